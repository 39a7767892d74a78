from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import is_nearly_solved
from sickbay.problems.shared.problem_groups import AFTER_DAMAGE, GRADIENTS
from sickbay.problems.shared.small_batches import SampledProblem, typical

MOST = 512  # losses kept in a history
VOTERS = 3  # steps at least whose median is judged: of two, one can decide


@dataclass(frozen=True, kw_only=True)
class LossSpike(SampledProblem):
    """The loss jumps far above its recent level.

    Why it matters:
        A bad batch or one step too far can undo thousands of good ones.

    How it is judged:
        The newest loss exceeds the highest of the `window` steps before it by more than `factor`
        times their range, and by more than `least` of the first loss. Where batches are small, the
        median over `samples` samples, in three steps or more, is compared with means over as many.
        If hardly any loss was left, only a jump to half of the first loss counts. Below the first
        loss, the severity is `info`: less is lost than was gained, and a new target network does
        the same. So it is if losses were below 0, as those of a policy, which measure no error.

    Example:
        >>> history = History(loss=[2.3] + 20 * [1.0, 1.1] + [4.0])
        >>> print(LossSpike().check(history).message)
        loss 4, between 1 and 1.1 in the 30 steps before

    Reference:
        Chowdhery et al. (2022), PaLM: scaling language modeling with pathways, section 5.1.
    """

    advice = "skip that batch, lower the learning rate, or clip the gradient norm to 1"
    reads = ("step",)
    tolerated_at_best = True
    loss_may_recover = True
    explains = ("non_finite", "unchanged_weights", *GRADIENTS, *AFTER_DAMAGE)

    samples: int = threshold(
        32, "Samples judged together, over several steps if batches are small.", least=1
    )
    factor: float = threshold(
        6.0, "Limit for the jump, as a multiple of the recent range.", above=0
    )
    least: float = threshold(
        0.1, "Smallest jump that counts, as a share of the first loss.", least=0
    )
    window: int = threshold(30, "Earlier steps that define the recent range.", least=2)

    def check(self, history: History) -> Finding | None:
        steps = max(1, min(self.steps(history), MOST // (self.window + 1)))
        steps = max(VOTERS, steps) if steps > 1 else 1
        losses = history.recent("loss", steps * (self.window + 1))
        if len(losses) < steps * (self.window + 1) or not all(map(isfinite, losses[:-1])):
            return None
        now, before = typical(losses[-steps:]), means(losses[:-steps], steps)
        low, high = min(before), max(before)
        jump = max(self.factor * (high - low), self.least * abs(self.first_loss(history)))
        if not high + jump < now < inf:
            return None
        if now < 0.5 * self.first_loss(history) and is_nearly_solved(history, steps):
            return None
        span = steps * self.window
        message = f"loss {now:.3g}, between {low:.3g} and {high:.3g} in the {span} steps before"
        found = self.found(history, message, loss=now, low=low, high=high)
        mild = low < 0 or now < self.first_loss(history)
        return replace(found, severity="info") if mild else found


def means(values: Sequence[float], size: int) -> list[float]:
    """Return the mean of each group of `size` values.

    >>> means([1.0, 3.0, 5.0, 7.0], 2)
    [2.0, 6.0]
    """
    return [sum(values[i : i + size]) / size for i in range(0, len(values), size)]
