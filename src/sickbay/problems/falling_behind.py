from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.compared import ComparedProblem, Comparison
from sickbay.problems.stages import adaptive_window
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class FallingBehind(ComparedProblem):
    """At the pace it has now, a trial will not get among the best by its last epoch.

    Why it matters:
        Gains become smaller with time, so it will end lower still. Other settings do better.

    How it is judged:
        What it has gained in the newest epochs (`window` of the planned ones, rounded, at least 2),
        carried on to the last planned epoch and taken `slack` times, does not bring it to what the
        best `share` of the trials so far have got to (`least` at least), less `near` of that.
        Asked from twice that window on, where `needed` trials have been begun. A trial with one of
        the lowest training losses is left alone.

    Example:
        >>> from sickbay.problems.compared import Course
        >>> from sickbay.readings import Setup
        >>> others = [Course([], [0.3, 0.5, 0.6])] * 8
        >>> beside = Comparison(Course([], [0.1, 0.20, 0.29, 0.30, 0.31, 0.31]), others)
        >>> print(FallingBehind().compare(History(Setup(epochs=20)), beside).message)
        0.31 after 6 epochs, gaining 0.005 an epoch: it will not get to 0.6 as the best 20 % did

    Reference:
        Made for this library; chosen by `python -m benchmarks.tuning run --part calibration`.
    """

    severity = "info"
    advice = "nothing is to be done: other settings do better"
    reads = ("epoch",)
    yields_to_the_best = True

    share: float = threshold(0.2, "Share of the trials that count as the best.", above=0)
    least: int = threshold(3, "Trials that count as the best at least.", least=1)
    needed: int = threshold(3, "Trials that must have been begun.", least=1)
    window: float = threshold(0.1, "Share of the planned epochs that tells the pace.", above=0)
    near: float = threshold(0.01, "Share of the value that is near enough.", least=0)
    slack: float = threshold(1.0, "Times the pace that is not to be hoped for.", above=0)

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        window = adaptive_window(history, self.window)
        if beside.done < 2 * window or len(beside.others) < self.needed:
            return None
        left = (history.setup.epochs or 0) - beside.done
        pace, bar = beside.pace(window), beside.best_of(self.share, self.least)
        reached = beside.height + self.slack * pace * left
        if left <= 0 or not isfinite(bar) or not reached < bar - self.near * abs(bar):
            return None
        message = (
            f"{abs(beside.height):.3g} after {beside.done} epochs, gaining {pace:.3g} an epoch: "
            f"it will not get to {abs(bar):.3g} as the best {100 * self.share:g} % did"
        )
        return self.found(history, message, pace=pace, bar=bar)
