"""How well a model answers on the batches it is trained on, beside the best constant answer."""

from dataclasses import dataclass
from math import inf, isfinite, sqrt

from sickbay.history import History
from sickbay.problems.shared.small_batches import batch_size

LATE = 1 / 3  # of the steps so far
READINGS = 64  # to look back at
EVENED = -0.5  # power of its frequency by which a class is weighted
LEAST = 0.02  # of the answers that a constant must get wrong, or there is nothing to learn


@dataclass(frozen=True)
class TrainingScore:
    """The mean of the newest scores: right answers, or the share of variance explained.

    >>> TrainingScore(0.75, 0.5, 320).gain
    0.5
    """

    score: float
    constant: float  # what the best constant answer gets
    samples: int

    @property
    def gain(self) -> float:
        """The share of what a constant answer gets wrong that the model gets right."""
        return (self.score - self.constant) / max(1 - self.constant, 1e-9)

    @property
    def doubt(self) -> float:
        """The standard error of the gain, for a model that answers by chance."""
        return sqrt(max(self.constant, 0.01) / max(1 - self.constant, 1e-9) / max(1, self.samples))

    def __str__(self) -> str:
        mine, constant = f"{self.score:.3g}", f"{self.constant:.3g}"
        if not self.constant:  # a mean explains nothing, but some class is always right sometimes
            return f"explains {mine} of the variance of its training batches, a constant answer 0"
        return f"scores {mine} on its training batches, a constant answer {constant}"


def training_score(history: History, after: int) -> TrainingScore | None:
    """Return the score in the last third of the steps so far, None before step `after`.

    There is none without outputs and targets that could be compared, nor where a constant answer
    is almost always right. If the loss makes up for rare classes, a good model may be right less
    often than a constant answer.
    """
    first = max(after, (1 - LATE) * history.step)
    if history.step < after:
        return None
    late = [value for step, value in history.timed("score", READINGS) if step >= first]
    late = [max(value, -1.0) for value in late if value > -inf]
    constant = history.latest("constant_score")
    evened = history.latest("weight_slope") < EVENED
    if evened or not late or not isfinite(constant) or constant > 1 - LEAST:
        return None
    size = batch_size(history.setup) or 1
    return TrainingScore(sum(late) / len(late), constant, len(late) * size)


def gains_less(history: History, limit: float, after: int) -> bool:
    """Return whether the model is known to gain less than `limit` over a constant answer."""
    score = training_score(history, after)
    return score is not None and score.gain < limit
