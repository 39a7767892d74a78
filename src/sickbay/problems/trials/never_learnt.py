from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.base import Problem
from sickbay.problems.shared.planned_epochs import adaptive_window
from sickbay.thresholds import threshold

FIRST = 5  # steps whose median is the first loss
FAR = 1.0  # above the first loss, as a share of it: what falls there was thrown off


@dataclass(frozen=True, kw_only=True)
class NeverLearnt(Problem):
    """After whole epochs the loss is still where it began.

    Why it matters:
        What has learnt nothing in so many steps does not begin later, with few exceptions.

    How it is judged:
        `window` of the planned epochs are over (rounded, at least 2; that is 2 of 20), and `steps`
        steps. In none of all epochs the mean of the training loss, or the validation loss, was
        below the first training loss (the median of 5 steps) by `drop` of that. Nor did it fall by
        `still` of that from the last epoch to this one: it may be on its way then, unless it is far
        above where it began. In a search where no trial learns more, those with the lowest training
        losses are left alone.

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

    window: float = threshold(0.1, "Share of the planned epochs that it is given.", above=0, most=1)
    steps: int = threshold(100, "Steps that it is given at least.", least=0)
    still: float = threshold(0.003, "Fall in an epoch that shows that it learns.", above=0)
    drop: float = threshold(0.03, "Fall of the loss, as a share of the first, to expect.", above=0)

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
