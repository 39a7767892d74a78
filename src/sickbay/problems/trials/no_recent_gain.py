from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.planned_epochs import adaptive_window, is_over
from sickbay.problems.trials.comparison import ComparedProblem, Comparison


@dataclass(frozen=True, kw_only=True)
class NoRecentGain(ComparedProblem):
    """The metric has not improved for a while: more epochs are unlikely to help.

    Why it matters:
        Nothing is wrong, but another trial is a better use of the time. The result so far counts.

    How it is judged:
        In the newest epochs (a share of `window` of the planned ones, rounded, at least 3), the
        best value of the metric has not improved by more than a share of `gain`. Judged once a
        share of `after` of the planned epochs is over, and not while a schedule keeps the learning
        rate above half of its highest value, because metrics often improve when the rate falls. A
        rate that has not changed yet counts as constant; with `StepLR`, set `after` to its first
        drop.

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
    after: float = threshold(0.3, "Share of the planned epochs to wait for.", least=0, most=1)

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
