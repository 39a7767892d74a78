from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.planned_epochs import adaptive_window
from sickbay.problems.trials.comparison import ComparedProblem, Comparison
from sickbay.problems.trials.never_learnt import FIRST
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class OutOfReach(ComparedProblem):
    """To get among the best, a trial would have to gain what hardly any has gained.

    Why it matters:
        It may be sound, but the search has better ones, and its time is better spent on others.

    How it is judged:
        Of the trials so far the best `share`, and `least` at least, have got to some value. What
        this one lacks to it is more than `slack` times the most that a trial that is over has
        gained from the same epoch on (but for the luckiest `lucky` of them), and more than it would
        gain itself at `pace` times the pace of its newest epochs (`window` of the planned ones,
        rounded, at least 2). From epoch `after` on, and with `needed` trials that are over. A trial
        with one of the lowest training losses is left alone, and one that was thrown off at first
        (mean training loss of the first epoch above the first loss by `thrown` of that) for as
        long as its loss falls by `still` of that an epoch.

    Example:
        >>> from sickbay.problems.trials.comparison import LearningCurve
        >>> from sickbay.vitals import Setup
        >>> others = [LearningCurve([], [0.3, 0.4, 0.5, 0.6], over=True)] * 12
        >>> beside = Comparison(LearningCurve([], [0.1, 0.12]), others)
        >>> print(OutOfReach().compare(History(Setup(epochs=4)), beside).message)
        0.12 after 2 epochs, 0.48 short of the best 20 %; hardly any gained more than 0.2 from there

    Reference:
        Made for this library; chosen by `python -m benchmarks.tuning run --part calibration`.
    """

    severity = "info"
    advice = "nothing is to be done: other settings do better"
    reads = ("epoch",)
    yields_to_the_best = True

    share: float = threshold(0.2, "Share of the trials that count as the best.", above=0, most=1)
    least: int = threshold(6, "Trials that count as the best at least.", least=1)
    needed: int = threshold(3, "Trials that must be over.", least=1)
    lucky: float = threshold(0.1, "Share of the largest gains that do not count.", least=0, most=1)
    slack: float = threshold(1.2, "Times the largest gain that is not to be hoped for.", above=0)
    window: float = threshold(0.1, "Share of the epochs that tells the pace.", above=0, most=1)
    pace: float = threshold(1.0, "Times its own pace that is not to be hoped for.", above=0)
    after: int = threshold(2, "Epochs that a trial is given.", least=2)
    thrown: float = threshold(0.25, "Rise above the first loss that is no start.", above=0)
    still: float = threshold(0.005, "Fall in an epoch that shows that it recovers.", above=0)

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
            f"{100 * self.share:g} %; hardly any gained more than {most:.3g} from there"
        )
        return self.found(history, message, lack=lack, most=most)

    def _recovers(self, history: History) -> bool:
        """Tell whether the trial comes back from a learning rate that was too high at first."""
        losses, first = history.epochs("loss"), history.first("loss", FIRST)
        if len(losses) < 2 or not losses[0] > first + self.thrown * abs(first):
            return False
        return losses[-2] - losses[-1] > self.still * abs(first)
