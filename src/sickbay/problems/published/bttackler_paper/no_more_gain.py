from math import isfinite

from sickbay.problems.published.bttackler import no_more_gain as code
from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import adaptive_window, stage


@dataclass(frozen=True, kw_only=True)
class NoMoreGain(Problem, like=code.NoMoreGain):
    """The training loss has reached no new low for a while: more epochs are unlikely to help.

    How it is judged:
        The newest epochs are looked at, as many as a share of `window` of the planned ones
        (rounded, at least 2; for example 6 of 20). Their lowest training loss is above the lowest
        of all epochs. Judged only in the second half of the planned epochs, and only if their
        number is known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=4))
        >>> for loss in (0.50, 0.52, 0.51):
        ...     history.end_epoch(loss=loss)
        >>> print(NoMoreGain().check(history).message)
        lowest loss 0.51 in 2 epochs, 0.5 before

    Reference:
        Pei et al. (2024), BTTackler; its rule NMG, as in the paper.
    """

    yields_to_the_best = False
    protection_lasts = False

    window: float = threshold(0.3, "Share of the planned epochs to look at.", above=0)

    def check(self, history: History) -> Finding | None:
        if stage(history) != "late":
            return None
        window = adaptive_window(history, self.window)
        losses = [loss if isfinite(loss) else float("inf") for loss in history.epochs("loss")]
        if len(losses) <= window:
            return None
        before, now = min(losses[:-window]), min(losses[-window:])
        if not now > before:
            return None
        message = f"lowest loss {now:.3g} in {window} epochs, {before:.3g} before"
        return self.found(history, message, before=before, now=now)
