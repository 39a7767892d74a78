from dataclasses import replace
from math import isnan

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.labels_from_1 import are_of_texts, labels_from_1
from sickbay.problems.shared.learns_badly import is_nearly_solved
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import LOOK_BACK
from sickbay.problems.shared.yes_below_1 import LOGISTIC, yes_below_1


@dataclass(frozen=True, kw_only=True)
class BadTargets(Problem):
    """The targets contain NaN, lie outside the range of the loss, or never change.

    Why it matters:
        A model can only learn what its targets say.

    How it is judged:
        The targets hold NaN or Inf. Or the targets of a binary cross-entropy lie outside 0 to 1, or
        are just 0 and a number below 0.5, or end at 1 / 255. Or all targets are the same in
        `batches` readings in a row that together hold at least `values` targets, and the model has
        learnt this one answer: hardly any loss is left. A discriminator does not: its targets may
        all be 0 by design, but its opponent learns too. Or the labels of a few classes start at 1,
        and none of many is 0: an `info` where inputs are tokens, as 0 may stand for padding.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(loss="bce_logits"))
        >>> history.add_table("batch", {"target": {"minimum": 0, "maximum": 255, "count": 64}})
        >>> print(BadTargets().check(history).message)
        targets range from 0 to 255, but bce_logits needs 0 to 1

    Reference:
        Karpathy (2019), A recipe for training neural networks, on looking at the data first.
    """

    severity = "critical"
    advice = "print the targets that the loss receives: check their file, their scale, their column"
    reads = ("batch",)
    explains = ("non_finite", "improper_output", "improper_loss", *EVERYTHING)

    batches: int = threshold(5, "Readings in a row with all targets the same.", least=2)
    per_class: int = threshold(50, "Labels per class among which 0 must occur.", least=2)
    values: int = threshold(256, "Number of targets needed in these readings.", least=2)

    def check(self, history: History) -> Finding | None:
        newest, now = history.table("batch"), history.batch("target")
        if newest is None or not now:
            return None
        step = newest.step
        if now["nonfinite"] > 0:
            message = f"{now['nonfinite']:.0f} NaN or Inf in the targets"
            return self.found(history, message, step=step, nonfinite=now["nonfinite"])
        low, high, loss = now["minimum"], now["maximum"], history.setup.loss
        if loss in LOGISTIC and (low < -1e-6 or high > 1 + 1e-6):
            message = f"targets range from {low:.3g} to {high:.3g}, but {loss} needs 0 to 1"
            return self.found(history, message, step=step, minimum=low, maximum=high)
        if low == high:
            return self._constant(history, low)
        yes = yes_below_1(history, self.values)
        if not isnan(yes):
            message = f"the targets of {loss} are 0 to {yes:.3g}, but a yes is 1"
            return self.found(history, message, step=step, maximum=yes)
        return self._no_first_class(history, step)

    def lasts(self, finding: Finding) -> bool:
        return "nonfinite" not in finding.evidence  # otherwise it would still be in the weights

    def stands_alone(self, finding: Finding) -> bool:
        return finding.severity == "info"

    def _no_first_class(self, history: History, step: int) -> Finding | None:
        count, setup = labels_from_1(history, self.per_class), history.setup
        if isnan(count):
            return None
        message = (
            f"the labels of {setup.output_shape[1]} classes start at 1: none of {count:.0f} is 0"
        )
        found = self.found(history, message, step=step, minimum=1.0)
        return replace(found, severity="info") if are_of_texts(setup) else found

    def _constant(self, history: History, value: float) -> Finding | None:
        tables = history.tables("batch", LOOK_BACK)
        rows = [table.row("target") for table in tables if "target" in table.names]
        if not all(row["minimum"] == value == row["maximum"] for row in rows):
            return None
        if len(rows) < self.batches or sum(row["count"] for row in rows) < self.values:
            return None
        if history.recent("loss", 1) and not is_nearly_solved(history):
            return None
        message = f"every target in the last {len(rows)} batches read is {value:.3g}"
        return self.found(history, message, step=tables[-1].step, value=value)
