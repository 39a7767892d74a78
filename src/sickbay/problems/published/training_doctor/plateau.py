import numpy as np

from sickbay.problems.published.training_doctor.suggesting_base import SuggestingProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class Plateau(SuggestingProblem):
    """The loss hardly changes.

    Why it matters:
        Either everything is learnt, or the run is stuck and wastes time.

    How it is judged:
        The variance of the loss over the newest `window` steps is below `variance`. This needs a
        full window. The limit does not depend on the scale of the loss, so a small loss always
        seems to be on a plateau.

    Example:
        >>> history = History(loss=[2.303, 2.302] * 10)
        >>> print(Plateau().check(history).message)
        variance of the loss 2.5e-07 over 20 steps (limit 0.0001)

    Reference:
        Training Doctor (authors not named); thresholds as given there.
    """

    advice = "raise the learning rate or let it decay, or stop if the loss is as low as it can be"
    reads = ("step",)
    tolerated_at_best = True

    variance: float = threshold(1e-4, "Variance of the loss that is too small.", above=0)
    window: int = threshold(20, "Steps to look at.", least=2)

    def check(self, history: History) -> Finding | None:
        timed = history.timed("loss", self.window)
        if len(timed) < self.window:
            return None
        with np.errstate(all="ignore"):  # NaN shows nothing
            variance = float(np.var([loss for _, loss in timed]))
        if not variance < self.variance:
            return None
        message = (
            f"variance of the loss {variance:.3g} over {self.window} steps "
            f"(limit {self.variance:g})"
        )
        return self.found(history, message, step=timed[-1][0], variance=variance)
