import numpy as np

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import adaptive_window, stage


@dataclass(frozen=True, kw_only=True)
class UnexpectedLoss(Problem):
    """Late in training the loss rises and is unsteady.

    Why it matters:
        The loss should settle by now; a run that falls apart this late does not recover.

    How it is judged:
        The newest epochs are looked at, as many as a share of `window` of the planned ones
        (rounded, at least 2; for example 6 of 20). A straight line fitted to their losses rises by
        at least `slope` per epoch, and the standard deviation of the losses divided by their mean
        is above `spread`. The training or the validation loss is enough. Judged only in the second
        half of the planned epochs, and only if their number is known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=4))
        >>> for loss in (0.9, 0.2, 0.5):
        ...     history.end_epoch(loss=loss)
        >>> print(UnexpectedLoss().check(history).message)
        loss rises by 0.3 per epoch (limit 0.01) and varies by 0.429 of its mean (limit 0.2)

    Reference:
        Pei et al. (2024), BTTackler; its rule ULC, as in the published code.
    """

    advice = "let the learning rate decay, lower it, or clip gradients"
    reads = ("epoch",)

    slope: float = threshold(0.01, "Rise of the loss in an epoch that is too much.", least=0)
    spread: float = threshold(
        0.2, "Limit for the standard deviation, divided by the mean.", least=0
    )
    window: float = threshold(0.3, "Share of the planned epochs to look at.", above=0)

    def check(self, history: History) -> Finding | None:
        if stage(history) != "late":
            return None
        for name in ("loss", "val_loss"):
            losses = np.array(history.epochs(name)[-adaptive_window(history, self.window) :])
            if len(losses) < 2:
                continue
            place = np.arange(len(losses)) - (len(losses) - 1) / 2
            with np.errstate(all="ignore"):  # NaN shows nothing
                slope = float(place @ losses / (place @ place))
                spread = float(np.std(losses) / np.mean(losses))
            if slope >= self.slope and spread > self.spread:
                message = (
                    f"{name} rises by {slope:.3g} per epoch (limit {self.slope:g}) "
                    f"and varies by {spread:.3g} of its mean (limit {self.spread:g})"
                )
                return self.found(history, message, slope=slope, spread=spread)
        return None
