from collections.abc import Sequence
from math import isfinite, nan, sqrt
from statistics import fmean, pvariance

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold

STEPS = 512  # losses kept in a history


@dataclass(frozen=True, kw_only=True)
class StillFalling(Problem):
    """The run ended while its loss was still falling fast.

    Why it matters:
        The same model would have become better with more epochs, or with a higher learning rate.

    How it is judged:
        At the end of a run, by the mean losses of the last two quarters of its epochs, or of the
        last 512 steps if it reported fewer than eight epochs. In the last quarter the loss fell by
        at least `share` of the whole fall since the first loss, or by `drop` of itself, and by more
        than chance. It is still above `level` of the first loss. A run of fewer than `few` steps in
        at most `short` epochs counts if its loss fell. A loss that fell by less than `least_fall`
        in all does not count.

    Example:
        >>> history = History(loss=[2.0 - 0.01 * step for step in range(100)])
        >>> history.ended = True
        >>> print(StillFalling().check(history).message)
        the loss fell from 1.38 to 1.13 in the last quarter of the run, and from 1.98 in all

    Reference:
        Humbatova et al. (2020), Taxonomy of real faults in deep learning systems, on too few
        epochs.
    """

    severity = "info"
    advice = "train for more epochs, or raise the learning rate"
    reads = ("end",)

    least_fall: float = threshold(0.01, "Whole fall, relative to the first loss.", least=0)
    share: float = threshold(0.12, "Share of the whole fall in the last quarter.", above=0)
    drop: float = threshold(0.1, "Fall in the last quarter, relative to the loss.", above=0)
    level: float = threshold(
        0.1, "A loss below this share of the first one is low enough.", above=0
    )
    least: int = threshold(40, "Steps that a run must have.", least=8)
    few: int = threshold(100, "Steps that are too few for any model.", least=0)
    short: int = threshold(5, "Epochs of so short a run.", least=1)

    def check(self, history: History) -> Finding | None:
        if not history.ended:
            return None
        return self._falls(history) or self._is_short(history)

    def _is_short(self, history: History) -> Finding | None:
        steps, epochs = history.step + 1, history.epoch
        losses, first = history.recent("loss", STEPS), history.first("loss", 5)
        if not 0 < epochs <= self.short or not 8 <= steps < self.few:
            return None
        now = fmean(_last_quarters(losses)[1]) if len(losses) >= 8 else nan
        if not self.level * first <= now <= (1 - self.least_fall) * first:
            return None
        message = f"the run ended after {steps} steps in {epochs} epoch{'s' * (epochs > 1)}"
        message += f", while its loss fell from {first:.3g} to {now:.3g}"
        return self.found(history, message, steps=steps, last=now, first=first)

    def _falls(self, history: History) -> Finding | None:
        losses = history.epochs("loss")
        if len(losses) < 8:
            losses = history.recent("loss", STEPS)
        first = history.first("loss", 5)
        if len(losses) < 8 or history.step + 1 < self.least:
            return None
        if not all(map(isfinite, [first, *losses])):
            return None
        before, last = _last_quarters(losses)
        earlier, now = fmean(before), fmean(last)
        chance = sqrt(pvariance(before) / len(before) + pvariance(last) / len(last))
        fall, whole = earlier - now, first - now
        enough = fall >= min(self.share * whole, self.drop * earlier)
        enough &= whole > 0 and whole >= self.least_fall * abs(first)
        if not enough or fall < chance or now < self.level * first:
            return None
        message = f"the loss fell from {earlier:.3g} to {now:.3g} in the last quarter of the run"
        message += f", and from {first:.3g} in all"
        return self.found(history, message, before=earlier, last=now, first=first)


def _last_quarters(losses: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    size = len(losses) // 4
    return losses[-2 * size : -size], losses[-size:]
