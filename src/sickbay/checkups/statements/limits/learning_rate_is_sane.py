from dataclasses import dataclass, replace
from math import isnan
from typing import Any

from sickbay.checkups.base import Statement
from sickbay.checkups.statements.limits.range_test import Range, range_test
from sickbay.checkups.training_setup import Setup
from sickbay.reports.checkup_report import Result
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class LearningRateIsSane(Statement):
    """The loss falls at this learning rate.

    Why it matters:
        A rate too high breaks training; one far too low takes a thousand times as long.

    How it is tested:
        A copy is trained for `steps` steps with the same kind of optimizer, while the rate grows
        from 1e-6 to 10. The suggested rate is a tenth of the one where the loss falls the most. The
        rate in use must be below the one where the loss diverges, at most `above` times the
        suggested one, and no less than `below` times smaller. `result.plot("rates.png")` draws it.
    """

    order = 5
    severity = "warning"
    remedy = "use the suggested rate"
    optional = True

    steps: int = threshold(30, "Steps of the range test.", least=10)
    above: float = threshold(100.0, "Times above the suggested rate that is too much.", above=1)
    below: float = threshold(1000.0, "Times below the suggested rate that is too little.", above=1)

    def examine(self, setup: Setup) -> Result:
        groups = setup.optimizer.param_groups
        rate = max(float(group.get("initial_lr", group.get("lr", 0.0))) for group in groups)
        found = range_test(setup, self.steps)
        curves = {"rate": found.rates, "loss": found.losses}
        return replace(self._judge(rate, found), curves=curves)

    def _judge(self, rate: float, found: Range) -> Result:
        if isnan(found.steepest):
            return self.skipped("the loss falls at no rate")
        suggested = found.suggested
        numbers: dict[str, Any] = {"rate": rate, "steepest": found.steepest, "suggested": suggested}
        message, remedy = f"the learning rate is {rate:.2g}", f"set it to about {suggested:.1g}"
        if rate >= found.limit:
            message = f"{message}, but the loss diverges from {found.limit:.2g} on"
            return self.fails(message, remedy=remedy, **numbers)
        message = f"{message}; {suggested:.2g} is suggested"
        if rate / self.above > suggested:
            message = f"{message} (limit {self.above:g} times above)"
            return self.fails(message, remedy=remedy, **numbers)
        if suggested / self.below > rate:
            message = f"{message} (limit {self.below:g} times below)"
            return self.fails(message, remedy=remedy, **numbers)
        return self.holds(message, **numbers)
