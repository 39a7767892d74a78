"""Problems that only count while the model learns badly."""

from collections.abc import Sequence
from math import inf, isnan, nan

from sickbay.problems.shared.base import History, dataclass, threshold
from sickbay.problems.shared.small_batches import SampledProblem, typical

RECENT = 10  # steps whose mean is the newest value


@dataclass(frozen=True, kw_only=True)
class LearningProblem(SampledProblem):
    """A problem that only counts while the model learns badly.

    That is, the accuracy never rose above `accuracy`, or without an accuracy, the loss has not
    fallen by `loss_drop` of its first value. Small batches are averaged over several steps.
    """

    accuracy: float = threshold(
        0.7, "A model that has reached a higher accuracy is left alone.", least=0
    )
    loss_drop: float = threshold(
        0.1,
        "If there is no accuracy: a model whose loss fell by this share is left alone.",
        above=0,
    )

    def learns_badly(self, history: History) -> bool:
        steps = self.steps(history)
        accuracy = best_accuracy(history, steps)
        if accuracy > -inf:
            return accuracy <= self.accuracy
        return not loss_fall(history, steps) > self.loss_drop


def best_accuracy(history: History, steps: int = 1) -> float:
    """Return the best training or validation accuracy so far, -inf if none was given.

    Small batches (`steps` above 1) are averaged over ten times as many steps: a single sample is
    right every now and then.
    """
    if steps == 1:
        return max(history.best("accuracy"), history.best("val_accuracy"))
    recent = history.recent("accuracy", RECENT * steps)
    trained = sum(recent) / len(recent) if len(recent) >= steps else -inf
    return max([trained, history.best("val_accuracy"), *history.epochs("accuracy")])


def loss_fall(history: History, steps: int = 1) -> float:
    """Return how far the loss has fallen, as a fraction of its first value; NaN if not known.

    With `steps` above 1, compare medians: of the first `steps` losses and of the last `10 * steps`.

    >>> loss_fall(History(loss=[2.0, 1.0, 1.5]))
    0.25
    """
    first = history.first("loss", steps)
    losses = history.recent("loss", RECENT * steps) or history.epochs("loss")[-1:]
    if isnan(first) or not losses or not first:
        return nan
    return (first - level(losses, steps)) / abs(first)


def level(losses: Sequence[float], steps: int = 1) -> float:
    """Return the mean of the losses, or for small batches (`steps` above 1) their median.

    >>> level([1.0, 1.0, 4.0]), level([1.0, 1.0, 4.0], 2)
    (2.0, 1.0)
    """
    return typical(losses) if steps > 1 else sum(losses) / len(losses)
