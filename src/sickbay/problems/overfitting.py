from dataclasses import dataclass, replace

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import Problem
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class Overfitting(Problem):
    """The validation loss is well above the training loss.

    Why it matters:
        The model learns its examples by heart, and that does not carry over to new ones.

    How it is judged:
        The newest validation loss by epoch minus the newest training loss is above `gap`; above
        `severe` it is critical. The limits do not know the scale of the loss.

    Example:
        >>> history = History()
        >>> history.end_epoch(loss=0.4, val_loss=0.7)
        >>> print(Overfitting().check(history).message)
        validation loss 0.7, training loss 0.4, gap 0.3 (limit 0.2)

    Reference:
        Training Doctor: automated diagnosis and treatment of neural network training pathologies
        (authors not named); thresholds as given there.
    """

    advice = "add dropout (0.1 more), weight decay or data, or stop early"
    reads = ("epoch",)

    gap: float = threshold(0.2, "Validation minus training loss that is too much.", above=0)
    severe: float = threshold(0.5, "Validation minus training loss that is critical.", above=0)

    def check(self, history: History) -> Finding | None:
        training, validation = history.epochs("loss"), history.epochs("val_loss")
        if not training or not validation:
            return None
        gap = validation[-1] - training[-1]
        if not gap > min(self.gap, self.severe):
            return None
        limit = self.severe if gap > self.severe else self.gap
        message = (
            f"validation loss {validation[-1]:.3g}, training loss {training[-1]:.3g}, "
            f"gap {gap:.3g} (limit {limit:g})"
        )
        finding = self.found(history, message, gap=gap)
        return replace(finding, severity="critical") if gap > self.severe else finding
