from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.range_test import range_test
from sickbay.checkups.report import Result
from sickbay.reports.range_plot import plot_range
from sickbay.thresholds import text, threshold


@dataclass(frozen=True, kw_only=True)
class LearningRateIsSane(Statement):
    """The learning rate is one the loss falls with.

    Why it matters:
        Above it training breaks, far below it takes a thousand times as long.

    How it is tested:
        A copy is trained for `steps` steps with the same kind of optimizer, while the rate grows
        from 1e-6 to 10. A tenth of the rate where the loss falls the most is suggested. The one
        that is set must be below that where the loss blows up, and not more than `above` times
        above the suggested one, or `below` times below it.
    """

    severity = "warning"
    remedy = "use the suggested rate"
    optional = True

    steps: int = threshold(30, "Steps of the range test.", least=10)
    above: float = threshold(100.0, "Times above the suggested rate that is too much.", above=1)
    below: float = threshold(1000.0, "Times below the suggested rate that is too little.", above=1)

    plot: str = text("", "File to draw the range test in, as rates.png; needs matplotlib.")

    def examine(self, case: Case) -> Result:
        groups = case.optimizer.param_groups
        rate = max(float(group.get("initial_lr", group.get("lr", 0.0))) for group in groups)
        found = range_test(case, self.steps)
        if self.plot:
            known = None if isnan(found.steepest) else found.suggested
            path = Path(self.plot)
            plot_range(found.rates, found.losses, path, chosen=rate, suggested=known)
        if isnan(found.steepest):
            raise Inapplicable("the loss falls at no rate")
        numbers: dict[str, Any] = {
            "rate": rate,
            "steepest": found.steepest,
            "suggested": found.suggested,
        }
        said = f"the learning rate is {rate:.2g}"
        remedy = f"set it to about {found.suggested:.1g}"
        if rate >= found.limit:
            message = f"{said}, the loss blows up from {found.limit:.2g} on"
            return self.fails(message, remedy=remedy, **numbers)
        said = f"{said}, {found.suggested:.2g} is suggested"
        for factor, how in ((rate / self.above, "above"), (found.suggested / self.below, "below")):
            if factor > (found.suggested if how == "above" else rate):
                message = f"{said} (limit {getattr(self, how):g} times {how})"
                return self.fails(message, remedy=remedy, **numbers)
        return self.holds(said, **numbers)
