from math import isfinite

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.planned_epochs import adaptive_window
from sickbay.problems.trials.comparison import ComparedProblem, Comparison
from sickbay.problems.trials.never_learnt import FIRST


@dataclass(frozen=True, kw_only=True)
class OutOfReach(ComparedProblem):
    """To become one of the best, the trial would have to gain more than almost any other has.

    Why it matters:
        The trial may be healthy, but other settings do better and are a better use of the time.

    How it is judged:
        The value to reach is that of the best trials: a share of `share` of all trials, but at
        least `least` of them. The distance to that value is compared with two gains. The first is
        the largest gain of a finished trial from the same epoch on, ignoring a share of `lucky` of
        the largest gains. The second is what the trial would still gain at its recent pace, which
        is measured over a share of `window` of the planned epochs (rounded, at least 2). The
        distance is larger than `slack` times the first gain and larger than `pace` times the
        second. Judged from epoch `after` on, and once `needed` trials have finished. Trials with
        one of the lowest training losses are protected. So are trials that got worse at first (the
        mean loss of the first epoch exceeds the first loss by a share of `thrown`), while their
        loss falls by `still` of the first loss per epoch.

    Example:
        >>> from sickbay.problems.trials.comparison import LearningCurve
        >>> from sickbay.vitals import Setup
        >>> others = [LearningCurve([], [0.3, 0.4, 0.5, 0.6], over=True)] * 12
        >>> beside = Comparison(LearningCurve([], [0.1, 0.12]), others)
        >>> print(OutOfReach().compare(History(Setup(epochs=4)), beside).message)
        0.12 after 2 epochs, 0.48 short of the best 20 %; hardly any trial gained over 0.2 from here

    Reference:
        Made for this library; thresholds chosen with
        `python -m benchmarks.tuning run --part calibration`.
    """

    severity = "info"
    advice = "nothing to do: other settings do better"
    reads = ("epoch",)
    yields_to_the_best = True

    share: float = threshold(0.2, "Share of the trials that count as the best.", above=0, most=1)
    least: int = threshold(6, "Smallest number of trials that count as the best.", least=1)
    needed: int = threshold(3, "Trials that must have finished.", least=1)
    lucky: float = threshold(0.1, "Share of the largest gains that is ignored.", least=0, most=1)
    slack: float = threshold(1.2, "Multiple of the largest gain that is still in reach.", above=0)
    window: float = threshold(
        0.1, "Share of the epochs that the pace is measured over.", above=0, most=1
    )
    pace: float = threshold(1.0, "Multiple of its own pace that is still in reach.", above=0)
    after: int = threshold(2, "Epochs to wait for.", least=2)
    thrown: float = threshold(
        0.25, "Rise above the first loss that shows a bad start, as a share.", above=0
    )
    still: float = threshold(0.005, "Fall per epoch that shows recovery.", above=0)

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        gains = sorted(beside.gains)
        if beside.done < self.after or len(gains) < self.needed or self._recovers(history):
            return None
        most = gains[-1 - min(int(self.lucky * len(gains)), len(gains) - 1)]
        bar = beside.best_of(self.share, self.least)
        lack = bar - beside.height
        left = (history.setup.epochs or 0) - beside.done
        own = beside.pace(adaptive_window(history, self.window)) * left
        if not isfinite(bar) or not lack > max(self.slack * most, self.pace * own):
            return None
        now = beside.value(beside.height)
        message = (
            f"{now:.3g} after {beside.done} epochs, {lack:.3g} short of the best "
            f"{100 * self.share:g} %; hardly any trial gained over {most:.3g} from here"
        )
        return self.found(history, message, lack=lack, most=most)

    def _recovers(self, history: History) -> bool:
        """Return whether the trial recovers from an initial learning rate that was too high."""
        losses, first = history.epochs("loss"), history.first("loss", FIRST)
        if len(losses) < 2 or not losses[0] > first + self.thrown * abs(first):
            return False
        return losses[-2] - losses[-1] > self.still * abs(first)
