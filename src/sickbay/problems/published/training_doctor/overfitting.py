from dataclasses import dataclass, replace

from sickbay.problems import overfitting as ours
from sickbay.problems.published.training_doctor.suggesting_base import SuggestingProblem
from sickbay.problems.shared.base import Finding, History, threshold


@dataclass(frozen=True, kw_only=True)
class Overfitting(SuggestingProblem, like=ours.Overfitting):
    """The validation loss is far above the training loss.

    How it is judged:
        The newest validation loss minus the newest training loss is above `gap`, or above `severe`,
        which is critical. The training loss is the one given with the validation loss, or else that
        of the newest step. Both limits are absolute: they do not depend on the scale of the loss.

    Example:
        >>> history = History(loss=[0.9, 0.1])
        >>> history.end_epoch(val_loss=0.5)
        >>> print(Overfitting().check(history).message)
        validation loss 0.5, training loss 0.1, gap 0.4 (limit 0.2)
    """

    gap: float = threshold(0.2, "Validation minus training loss that is too much.", above=0)
    severe: float = threshold(0.5, "Validation minus training loss that is critical.", above=0)

    def check(self, history: History) -> Finding | None:
        validation = history.epochs("val_loss")
        if not validation:
            return None
        training = history.measured.get("loss", history.latest("loss"))
        gap = validation[-1] - training
        if not gap > min(self.gap, self.severe):
            return None
        limit = self.severe if gap > self.severe else self.gap
        message = (
            f"validation loss {validation[-1]:.3g}, training loss {training:.3g}, "
            f"gap {gap:.3g} (limit {limit:g})"
        )
        finding = self.found(history, message, gap=gap)
        return replace(finding, severity="critical") if gap > self.severe else finding
