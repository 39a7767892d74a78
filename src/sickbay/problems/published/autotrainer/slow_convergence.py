from dataclasses import dataclass
from itertools import pairwise

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.base import Problem
from sickbay.problems.shared.planned_epochs import is_over
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class SlowConvergence(Problem):
    """The accuracy is low and hardly rises.

    Why it matters:
        At this pace the run will be over before anything is learnt.

    How it is judged:
        No epoch raised the accuracy by more than `change`, and it never was above `accuracy`:
        training and validation accuracy, as far as given, must both be so. A fall is no rise.
        Judged after `after` of the planned epochs, from the second epoch on where they are not
        known, and never without an accuracy.

    Example:
        >>> history = History()
        >>> for accuracy in (0.1, 0.105, 0.102):
        ...     history.end_epoch(accuracy=accuracy)
        >>> print(SlowConvergence().check(history).message)
        accuracy rose by 0.005 an epoch at most (limit 0.01), best 0.105 (limit 0.7)

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system; thresholds as published there, `after` as in its code.
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
        # Not by the largest: a NaN among them shows nothing.
        slow = all(rise <= self.change for rise in rises)
        if not slow or not all(value <= self.accuracy for value in values):
            return None
        message = (
            f"accuracy rose by {max(rises):.3g} an epoch at most (limit {self.change:g}), "
            f"best {max(values):.3g} (limit {self.accuracy:g})"
        )
        return self.found(history, message, rise=max(rises), best=max(values))
