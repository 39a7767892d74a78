from dataclasses import replace
from math import inf

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import is_nearly_solved
from sickbay.problems.shared.recent_norms import newest_and_earlier_norms
from sickbay.problems.shared.small_batches import SampledProblem

LOSSES = 30  # of the newest steps


@dataclass(frozen=True, kw_only=True)
class GradientSpike(SampledProblem):
    """The gradient norm jumps far above its recent level.

    Why it matters:
        One step of that size can undo thousands of good ones.

    How it is judged:
        The newest norm is above `factor` times the highest of the `window` steps before it. Where
        batches are small, the newest norm is the median over `samples` samples. It does not count
        while hardly any loss is left: gradients are tiny there, and any batch stands out. The
        severity is `info` if the loss is no higher than at the start or in the steps before.

    Example:
        >>> history = History(grad_norm=30 * [1.0, 1.1] + [30.0])
        >>> print(GradientSpike().check(history).message)
        gradient norm 30, at most 1.1 in the 60 readings before (limit 8 times that)

    Reference:
        Pascanu et al. (2013), On the difficulty of training recurrent neural networks.
    """

    advice = "clip the gradient norm a little above its usual value, or lower the learning rate"
    reads = ("step",)
    tolerated_at_best = True

    factor: float = threshold(8.0, "Limit, as a multiple of the highest recent norm.", above=1)
    window: int = threshold(100, "Earlier steps to compare the newest one with.", least=2)

    def check(self, history: History) -> Finding | None:
        steps = self.steps(history)
        now, before = newest_and_earlier_norms(history, self.window, steps)
        high = max(before, default=0.0)
        if not now > self.factor * high > 0 or is_nearly_solved(history, steps):
            return None
        message = (
            f"gradient norm {now:.3g}, at most {high:.3g} in the {len(before)} readings before "
            f"(limit {self.factor:g} times that)"
        )
        # `high` is the old name of `usual_norm`.
        found = self.found(history, message, now=now, high=high, usual_norm=high)
        return replace(found, severity="info") if self._is_calm(history) else found

    def _is_calm(self, history: History) -> bool:
        """Return whether the newest loss is no higher than those before it, or the first ones."""
        *before, newest = history.recent("loss", LOSSES) or [inf]
        return len(before) == LOSSES - 1 and newest <= max(*before, self.first_loss(history))
