from itertools import pairwise
from statistics import fmean

from sickbay.problems.published.bttackler import passive_loss as code
from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import stage


@dataclass(frozen=True, kw_only=True)
class PassiveLoss(Problem, like=code.PassiveLoss):
    """The training loss hardly changes from epoch to epoch.

    How it is judged:
        The mean absolute change of the training loss from one epoch to the next, over all epochs so
        far, is below a share of `change` of the loss of the first epoch. Judged only in the first
        half of the planned epochs, and only if their number is known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=20))
        >>> for loss in (2.303, 2.302, 2.303):
        ...     history.end_epoch(loss=loss)
        >>> print(PassiveLoss().check(history).message)
        loss changed by 0.0434 % of the first loss per epoch (limit 0.1 %)

    Reference:
        Pei et al. (2024), BTTackler; its rule PLC, as in the paper.
    """

    yields_to_the_best = False
    protection_lasts = False

    change: float = threshold(1e-3, "Limit for the mean change, divided by the loss.", above=0)

    def check(self, history: History) -> Finding | None:
        losses = history.epochs("loss")
        if len(losses) < 2 or stage(history) != "early":
            return None
        moved, first = fmean(abs(now - before) for before, now in pairwise(losses)), abs(losses[0])
        if not moved < self.change * first:  # NaN shows nothing
            return None
        share = moved / first
        message = (
            f"loss changed by {100 * share:.3g} % of the first loss per epoch "
            f"(limit {100 * self.change:g} %)"
        )
        return self.found(history, message, change=share)
