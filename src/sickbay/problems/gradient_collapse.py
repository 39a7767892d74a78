from collections.abc import Sequence

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.recent_norms import newest_and_earlier_norms
from sickbay.problems.shared.small_batches import SampledProblem, typical

NOTHING = 1e-3  # of the first loss


@dataclass(frozen=True, kw_only=True)
class GradientCollapse(SampledProblem):
    """The gradient norm drops far below its recent level.

    Why it matters:
        The model stops learning from one step to the next: something has cut off the gradient.

    How it is judged:
        The newest norm is below `factor` times the lowest of the `window` steps before it, unless
        the loss has fallen at the same time, to 0 or to less than half of its previous minimum.
        Where batches are small, medians over `samples` samples are compared.

    Example:
        >>> history = History(grad_norm=30 * [1.0, 1.1] + [1e-8])
        >>> print(GradientCollapse().check(history).message)
        gradient norm 1e-08, at least 1 in the 60 readings before (limit 0.001 times that)

    Reference:
        Training Doctor: automated diagnosis and treatment of neural network training pathologies
        (authors not named), on gradients that vanish in mid-training.
    """

    advice = "check what changed at this step: the batch, the loss scale, the mode of the model"
    reads = ("step",)
    tolerated_at_best = True
    explains = ("loss_spike", "gradient_spike")

    factor: float = threshold(1e-3, "Limit, as a multiple of the lowest recent norm.", above=0)
    window: int = threshold(100, "Earlier steps to compare the newest one with.", least=2)

    def check(self, history: History) -> Finding | None:
        steps = self.steps(history)
        now, before = newest_and_earlier_norms(history, self.window, steps)
        losses = history.recent("loss", self.window * steps + 1)
        if not before or not now < self.factor * min(before):
            return None
        if is_solved(losses, steps, self.first_loss(history)):
            return None
        low = min(before)
        message = (
            f"gradient norm {now:.3g}, at least {low:.3g} in the {len(before)} readings before "
            f"(limit {self.factor:g} times that)"
        )
        return self.found(history, message, now=now, low=low)


def is_solved(losses: Sequence[float], steps: int, first: float) -> bool:
    """Return whether the newest losses are 0 or far below all others, as gradients are then too.

    For small batches (`steps` above 1), losses that are tiny compared with the first are enough.
    """
    if len(losses) <= steps:
        return False
    now = typical(losses[-steps:])
    if steps > 1 and 0 <= now < NOTHING * first:
        return True
    return now == 0 or 0 < now < 0.5 * min(losses[:-steps])
