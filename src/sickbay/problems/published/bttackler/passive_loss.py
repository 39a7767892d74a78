import numpy as np

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import stage


@dataclass(frozen=True, kw_only=True)
class PassiveLoss(Problem):
    """The training loss hardly changes.

    Why it matters:
        Training that has no effect at the start will hardly have one later.

    How it is judged:
        The standard deviation of the training loss over all epochs so far, divided by its mean, is
        below `spread`. Judged once `epochs` epochs are over. As published, a negative loss always
        counts. Judged only in the first half of the planned epochs, and only if their number is
        known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=20))
        >>> for loss in (2.3026, 2.3025, 2.3026):
        ...     history.end_epoch(loss=loss)
        >>> print(PassiveLoss().check(history).message)
        loss varied by 2.05e-05 of its mean in 3 epochs (limit 0.0001)

    Reference:
        Pei et al. (2024), BTTackler; its rule PLC, as in the published code.
    """

    advice = "raise the learning rate, and check whether the gradient reaches all layers"
    reads = ("epoch",)
    yields_to_the_best = True
    protection_lasts = True

    spread: float = threshold(
        1e-4, "Limit for the standard deviation, divided by the mean.", above=0
    )
    epochs: int = threshold(3, "Epochs that must be over.", least=2)

    def check(self, history: History) -> Finding | None:
        losses = history.epochs("loss")
        if len(losses) < self.epochs or stage(history) != "early":
            return None
        with np.errstate(all="ignore"):  # NaN shows nothing
            spread = float(np.std(losses) / np.mean(losses))
        if not spread < self.spread:
            return None
        message = (
            f"loss varied by {spread:.3g} of its mean in {len(losses)} epochs "
            f"(limit {self.spread:g})"
        )
        return self.found(history, message, spread=spread)
