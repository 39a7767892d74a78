from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.planned_epochs import adaptive_window, is_over
from sickbay.problems.trials.comparison import ComparedProblem, Comparison
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class NoRecentGain(ComparedProblem):
    """The metric has not become better for a while: the trial has given what it can.

    Why it matters:
        Nothing is wrong, but the time is better spent on another trial. What was reached counts.

    How it is judged:
        In the newest epochs (`window` of the planned ones, rounded, at least 3) the best of the
        metric has not become better by `gain` of it. Asked when `after` of the planned epochs are
        over, and not while a schedule holds the learning rate above half of its highest: much is
        gained when that falls. A rate that has not changed yet, as before the first drop of
        `StepLR`, counts as constant: set `after` to where it drops.

    Example:
        >>> from sickbay.problems.trials.comparison import LearningCurve
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=10))
        >>> for _ in range(4):
        ...     history.end_epoch()
        >>> beside = Comparison(LearningCurve([], [0.6, 0.58, 0.59, 0.6]))
        >>> print(NoRecentGain().compare(history, beside).message)
        0.6 was reached 3 epochs ago

    Reference:
        Prechelt (1998), Early stopping, but when?
    """

    severity = "info"
    advice = "stop here and keep the best model, or go on with a lower learning rate"
    reads = ("epoch",)
    benign = True

    window: float = threshold(0.15, "Share of the planned epochs without a gain.", above=0, most=1)
    gain: float = threshold(0.0, "Share of the best that counts as a gain.", least=0)
    after: float = threshold(0.3, "Share of the planned epochs that it is given.", least=0, most=1)

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        window = max(3, adaptive_window(history, self.window))
        if beside.done <= window or not history.setup.epochs or not is_over(history, self.after):
            return None
        rates = history.epochs("lr")
        if rates and min(rates) < 0.999 * max(rates) and max(rates) < 2 * rates[-1]:
            return None
        before = beside.after(beside.own, beside.done - window)
        if not beside.height - before <= self.gain * abs(before):
            return None
        message = f"{beside.value(before):.3g} was reached {window} epochs ago"
        return self.found(history, message, best=beside.value(before))
