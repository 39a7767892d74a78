from collections.abc import Sequence

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import is_over


@dataclass(frozen=True, kw_only=True)
class OscillatingAccuracy(Problem):
    """The training accuracy goes up and down from epoch to epoch instead of settling.

    Why it matters:
        Steps that are too large jump over the minimum again and again.

    How it is judged:
        Local maxima and minima of the accuracy by epoch are paired in order of time. The number of
        pairs that lie `size` or more apart, divided by the number of epochs, is at least `share`.
        Judged once a share of `after` of the planned epochs is over, or from the start if their
        number is not known. Not judged without a training accuracy.

    Example:
        >>> history = History()
        >>> for accuracy in (0.5, 0.8, 0.6, 0.9, 0.7):
        ...     history.end_epoch(accuracy=accuracy)
        >>> print(OscillatingAccuracy().check(history).message)
        accuracy swung by 0.03 or more in 20 % of 5 epochs (limit 20 %)

    Reference:
        Zhang et al. (2021), AutoTrainer; thresholds as published there, `after` as in its code
        (the text judges from the start, `after=0`).
    """

    advice = "lower the learning rate, use Adam or momentum, or make the batch larger"
    reads = ("epoch",)

    size: float = threshold(0.03, "Smallest difference in accuracy that counts.", above=0)
    share: float = threshold(0.2, "Limit for the number of such pairs per epoch.", above=0)
    after: float = threshold(0.3, "Share of the planned epochs that must be over.", least=0)

    def check(self, history: History) -> Finding | None:
        curve = history.epochs("accuracy")
        share = swings(curve, self.size) / max(len(curve), 1)
        if share < self.share or not is_over(history, self.after):
            return None
        message = (
            f"accuracy swung by {self.size:g} or more in {100 * share:.3g} % of "
            f"{len(curve)} epochs (limit {100 * self.share:g} %)"
        )
        return self.found(history, message, share=share)


def swings(curve: Sequence[float], size: float) -> int:
    """Count the local maxima that lie `size` or more above the local minimum of the same rank.

    A point on level ground is both, as in the published code.
    """
    inner = list(zip(curve, curve[1:], curve[2:], strict=False))
    highs = [now for before, now, after in inner if before <= now >= after]
    lows = [now for before, now, after in inner if before >= now <= after]
    return sum(high - low >= size for high, low in zip(highs, lows, strict=False))
