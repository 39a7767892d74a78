"""Problems that only count while the model learns badly."""

from collections.abc import Sequence
from math import inf, isnan, log, nan

from sickbay.problems.shared.base import History, dataclass, threshold
from sickbay.problems.shared.small_batches import SampledProblem, typical

RECENT = 10  # steps whose mean is the newest value
CLEARLY = 0.8  # of the loss of a constant answer: below that, the model has learnt something
SOLVED = 0.05  # share of the first loss that is hardly anything


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
        fell = loss_fall(history, steps) > self.loss_drop
        return not fell and not is_nearly_solved(history, steps)


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


def is_nearly_solved(history: History, steps: int = 1) -> bool:
    """Return whether little is left to learn: the usual loss is a twentieth of the first or less.

    A few losses that are far off do not matter.

    >>> is_nearly_solved(History(loss=[2.0, *9 * [0.01], 5.0]))
    True
    """
    first, losses = history.first("loss", steps), history.recent("loss", RECENT * steps)
    return bool(losses) and 0 <= typical(losses) <= SOLVED * first


def beats_constant(history: History, steps: int = 1) -> bool:
    """Return whether the loss is clearly below that of the best constant answer, if that is known.

    >>> from sickbay.vitals import Setup
    >>> setup = Setup(loss="cross_entropy", labels=10)
    >>> [beats_constant(History(setup, loss=each)) for each in ([9.0, 2.3], [9.0, 0.5, 0.5, 0.5])]
    [False, False]
    >>> beats_constant(History(setup, loss=[9.0, *10 * [0.5]]))
    True
    """
    setup, losses = history.setup, history.recent("loss", RECENT * steps)
    if setup.loss in ("cross_entropy", "nll"):
        constant = log(max(2, setup.labels))
    elif setup.loss in ("bce", "bce_logits"):
        constant = log(2)
    else:
        constant = history.batch("target").get("variance", nan) if setup.loss == "mse" else nan
    return bool(losses) and level(losses, steps) < CLEARLY * constant


def level(losses: Sequence[float], steps: int = 1) -> float:
    """Return the mean of the losses, or for small batches (`steps` above 1) their median.

    >>> level([1.0, 1.0, 4.0]), level([1.0, 1.0, 4.0], 2)
    (2.0, 1.0)
    """
    return typical(losses) if steps > 1 else sum(losses) / len(losses)
