from math import nan

from sickbay.problems.published.training_doctor.suggesting_base import SuggestingProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class LossExplosion(SuggestingProblem):
    """The loss is large, or has jumped since the last step.

    Why it matters:
        The last update did harm, and the next one starts from there.

    How it is judged:
        The newest loss is above `limit`, or above `factor` times the one before it. The limit does
        not depend on the scale of the loss, and a negative loss always seems to jump.

    Example:
        >>> print(LossExplosion().check(History(loss=[0.9, 2.1])).message)
        loss 2.1 after 0.9 (limit 2 times that)

    Reference:
        Training Doctor (authors not named); thresholds as given there.
    """

    advice = "halve the learning rate, and clip the gradient norm to 1"
    reads = ("step",)
    loss_may_recover = True

    limit: float = threshold(10.0, "Loss that is too large at any time.", above=0)
    factor: float = threshold(2.0, "Limit, as a multiple of the previous loss.", above=1)

    def check(self, history: History) -> Finding | None:
        timed = history.timed("loss", 2)
        if not timed:
            return None
        step, loss = timed[-1]
        before = timed[0][1] if len(timed) > 1 else nan
        if loss > self.factor * before:
            message = f"loss {loss:.3g} after {before:.3g} (limit {self.factor:g} times that)"
            return self.found(history, message, step=step, loss=loss, before=before)
        if loss > self.limit:
            message = f"loss {loss:.3g} (limit {self.limit:g})"
            return self.found(history, message, step=step, loss=loss)
        return None
