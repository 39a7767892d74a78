from itertools import pairwise

from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.planned_epochs import is_over


@dataclass(frozen=True, kw_only=True)
class SlowConvergence(LowAccuracyProblem):
    """The accuracy is low and hardly rises.

    Why it matters:
        At this pace the run ends before the model has learnt anything.

    How it is judged:
        No epoch raised the training accuracy by more than `change`, and it was never above
        `accuracy`. With `validation`, the validation accuracy must show it as well. Judged once a
        share of `after` of the planned epochs is over, or from the second epoch if their number is
        not known. Not judged without an accuracy.

    Example:
        >>> history = History()
        >>> for accuracy in (0.1, 0.105, 0.102):
        ...     history.end_epoch(accuracy=accuracy)
        >>> print(SlowConvergence().check(history).message)
        accuracy rose by at most 0.005 per epoch (limit 0.01), best 0.105 (limit 0.7)

    Reference:
        Zhang et al. (2021), AutoTrainer; thresholds as published there, `after` as in its code
        (the text judges from the start, `after=0`).
    """

    advice = "raise the learning rate, try another optimizer, or another initialisation"
    reads = ("epoch",)

    change: float = threshold(0.01, "Rise of the accuracy in an epoch that is enough.", least=0)
    after: float = threshold(0.3, "Share of the planned epochs that must be over.", least=0)

    def check(self, history: History) -> Finding | None:
        curves = self.curves(history)
        rises = [new - old for curve in curves for old, new in pairwise(curve)]
        if not rises or not is_over(history, self.after) or not self.is_accuracy_low(history):
            return None
        # Not max(rises): a NaN among them shows nothing.
        if not all(rise <= self.change for rise in rises):
            return None
        best = max(value for curve in curves for value in curve)
        message = (
            f"accuracy rose by at most {max(rises):.3g} per epoch (limit {self.change:g}), "
            f"best {best:.3g} (limit {self.accuracy:g})"
        )
        return self.found(history, message, rise=max(rises), best=best)
