from math import isfinite

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import adaptive_window

FIRST = 5  # steps whose median is the first loss
FAR = 1.0  # above the first loss, as a share of it: such a trial was thrown off


@dataclass(frozen=True, kw_only=True)
class NeverLearnt(Problem):
    """After several epochs, the loss is still where it began.

    Why it matters:
        With few exceptions, a trial that has learnt nothing in so many steps never learns.

    How it is judged:
        Judged once a share of `window` of the planned epochs (rounded, at least 2; for example 2 of
        20) and `steps` steps are over. The first training loss is the median of 5 steps. In no
        epoch was the mean training loss or the validation loss lower than that by a share of
        `drop`. A model whose loss fell by `still` of the first loss in the last epoch may still be
        learning, unless the loss is far above its start. The trials with the lowest training losses
        are protected, in case no trial of the search learns more.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=20), loss=[2.31] * 100)
        >>> for loss in (2.29, 2.29):
        ...     history.end_epoch(loss=loss)
        >>> print(NeverLearnt().check(history).message)
        the loss began at 2.31 and was never below 2.29 in 2 epochs (limit 2.24)

    Reference:
        Pei et al. (2024), BTTackler: a diagnosis-based framework for efficient deep learning
        hyperparameter optimization, for passive loss changes; judged here against the first loss.
    """

    advice = "change the learning rate by a factor of 10, or look for what blocks the gradient"
    reads = ("epoch",)
    yields_to_the_best = True

    window: float = threshold(0.1, "Share of the planned epochs to wait for.", above=0, most=1)
    steps: int = threshold(100, "Steps to wait for.", least=0)
    still: float = threshold(0.003, "Fall per epoch that shows learning.", above=0)
    drop: float = threshold(0.03, "Fall to expect, as a share of the first loss.", above=0)

    def check(self, history: History) -> Finding | None:
        losses, first = history.epochs("loss"), history.first("loss", FIRST)
        judged = [each for each in (*losses, *history.epochs("val_loss")) if isfinite(each)]
        early = len(losses) < adaptive_window(history, self.window) or history.step < self.steps - 1
        if early or not isfinite(first):
            return None
        best = min(judged, default=first)
        limit = first - self.drop * abs(first)
        falling = losses[-2] - losses[-1] >= self.still * abs(first)
        falling &= losses[-1] < first + FAR * abs(first)
        if best <= limit or falling:
            return None
        message = (
            f"the loss began at {first:.3g} and was never below {best:.3g} "
            f"in {len(losses)} epochs (limit {limit:.3g})"
        )
        return self.found(history, message, first=first, best=best)
