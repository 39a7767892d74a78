from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import adaptive_window, stage


@dataclass(frozen=True, kw_only=True)
class NoMoreGain(Problem):
    """The loss no longer falls: more epochs are unlikely to help.

    Why it matters:
        Nothing is wrong, but another run is a better use of the time. The result so far counts.

    How it is judged:
        The newest epochs are looked at, as many as a share of `window` of the planned ones
        (rounded, at least 2; for example 6 of 20). The mean loss of their second half is above that
        of their first half, for the training or the validation loss. Judged only in the second half
        of the planned epochs, and only if their number is known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=4))
        >>> for loss in (0.9, 0.50, 0.52):
        ...     history.end_epoch(loss=loss)
        >>> print(NoMoreGain().check(history).message)
        mean loss rose from 0.5 to 0.52 within 2 epochs

    Reference:
        Pei et al. (2024), BTTackler; its rule NMG, as in the published code.
    """

    severity = "info"
    advice = "stop here and keep the best model, or go on with a lower learning rate"
    reads = ("epoch",)
    yields_to_the_best = True
    protection_lasts = True
    benign = True

    window: float = threshold(0.3, "Share of the planned epochs to look at.", above=0)

    def check(self, history: History) -> Finding | None:
        if stage(history) != "late":
            return None
        window = adaptive_window(history, self.window)
        newest = round(window / 2)
        for name in ("loss", "val_loss"):
            losses = history.epochs(name)[-window:]
            if len(losses) <= newest:
                continue
            before, now = (sum(half) / len(half) for half in (losses[:-newest], losses[-newest:]))
            if now > before:
                message = f"mean {name} rose from {before:.3g} to {now:.3g} within {window} epochs"
                return self.found(history, message, before=before, now=now)
        return None
