"""Problems that only count while the model learns badly."""

from dataclasses import dataclass
from math import inf, isnan, nan

from sickbay.history import History
from sickbay.problems.base import Problem
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class LearningProblem(Problem):
    """A problem that only counts while the model learns badly.

    Badly means an accuracy that never rose above `accuracy`, or, where no accuracy is given, a loss
    that has not fallen by `loss_drop` of its first value.
    """

    accuracy: float = threshold(
        0.7, "A model that reached a higher accuracy is left alone.", least=0
    )
    loss_drop: float = threshold(
        0.1,
        "Without an accuracy: fall of the loss, as a fraction of the first, at which the model is "
        "left alone. 0: say nothing without an accuracy.",
        least=0,
    )

    def learns_badly(self, history: History) -> bool:
        accuracy = best_accuracy(history)
        if accuracy > -inf:
            return accuracy <= self.accuracy
        if not self.loss_drop:
            return False
        return not fall(history) > self.loss_drop


def best_accuracy(history: History) -> float:
    """Return the best accuracy in training or validation so far, -inf if none was given."""
    return max(history.best("accuracy"), history.best("val_accuracy"))


def fall(history: History) -> float:
    """Return how far the loss has fallen, as a fraction of its first value; NaN if not known.

    >>> fall(History(loss=[2.0, 1.0, 1.5]))
    0.25
    """
    first = history.first("loss")
    losses = history.recent("loss", 10) or history.epochs("loss")[-1:]
    if isnan(first) or not losses or not first:
        return nan
    return (first - sum(losses) / len(losses)) / abs(first)
