from itertools import pairwise

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import is_over


@dataclass(frozen=True, kw_only=True)
class SlowConvergence(Problem):
    """The accuracy is low and hardly rises.

    Why it matters:
        At this pace the run ends before the model has learnt anything.

    How it is judged:
        No epoch raised the accuracy by more than `change`, and it was never above `accuracy`. If
        both the training and the validation accuracy are given, both must show it. Judged once a
        share of `after` of the planned epochs is over, or from the second epoch if their number is
        not known. Not judged without an accuracy.

    Example:
        >>> history = History()
        >>> for accuracy in (0.1, 0.105, 0.102):
        ...     history.end_epoch(accuracy=accuracy)
        >>> print(SlowConvergence().check(history).message)
        accuracy rose by at most 0.005 per epoch (limit 0.01), best 0.105 (limit 0.7)

    Reference:
        Zhang et al. (2021), AutoTrainer; thresholds as published there, `after` as in its code.
    """

    advice = "raise the learning rate, try another optimizer, or another initialisation"
    reads = ("epoch",)

    change: float = threshold(0.01, "Rise of the accuracy in an epoch that is enough.", least=0)
    accuracy: float = threshold(
        0.7, "A model that reached a higher accuracy is left alone.", least=0
    )
    after: float = threshold(0.3, "Share of the planned epochs that must be over.", least=0)

    def check(self, history: History) -> Finding | None:
        curves = [history.epochs(name) for name in ("accuracy", "val_accuracy")]
        values = [value for curve in curves for value in curve]
        rises = [new - old for curve in curves for old, new in pairwise(curve)]
        if not rises or not is_over(history, self.after):
            return None
        # Not max(rises): a NaN among them shows nothing.
        slow = all(rise <= self.change for rise in rises)
        if not slow or not all(value <= self.accuracy for value in values):
            return None
        message = (
            f"accuracy rose by at most {max(rises):.3g} per epoch (limit {self.change:g}), "
            f"best {max(values):.3g} (limit {self.accuracy:g})"
        )
        return self.found(history, message, rise=max(rises), best=max(values))
