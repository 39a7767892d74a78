from dataclasses import dataclass
from math import inf, isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import Problem
from sickbay.problems.groups import AFTERMATH, GRADIENTS
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class LossSpike(Problem):
    """The loss jumps far above all that it was lately.

    Why it matters:
        A bad batch or one step too far can undo thousands of good ones.

    How it is judged:
        The newest loss lies above the highest of the `window` before it by more than `factor` times
        the range of these, and by more than `least` of its first value.

    Example:
        >>> history = History(loss=[2.3] + 20 * [1.0, 1.1] + [4.0])
        >>> print(LossSpike().check(history).message)
        loss 4, between 1 and 1.1 in the 30 steps before

    Reference:
        Chowdhery et al. (2022), PaLM: scaling language modeling with pathways, section 5.1.
    """

    advice = "skip that batch, lower the learning rate, or clip the gradient norm to 1"
    reads = ("step",)
    explains = ("non_finite", "unchanged_weights", *GRADIENTS, *AFTERMATH)

    factor: float = threshold(6.0, "Times the recent range above it that is too much.", above=0)
    least: float = threshold(0.1, "Jump over the first loss that counts.", least=0)
    window: int = threshold(30, "Steps before the newest that set the range.", least=2)

    def check(self, history: History) -> Finding | None:
        losses = history.recent("loss", self.window + 1)
        if len(losses) <= self.window or not all(map(isfinite, losses[:-1])):
            return None
        now, low, high = losses[-1], min(losses[:-1]), max(losses[:-1])
        jump = max(self.factor * (high - low), self.least * abs(history.first("loss")))
        if not high + jump < now < inf:
            return None
        message = (
            f"loss {now:.3g}, between {low:.3g} and {high:.3g} in the {self.window} steps before"
        )
        return self.found(history, message, loss=now, low=low, high=high)
