from torch.optim import Optimizer

from sickbay.problems.excessive_weight_decay import DECOUPLED
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold

MOST_DECAY, MOST_PENALTY = 0.01, 1e-3  # apart from the gradient, as in AdamW, and within it


@dataclass(frozen=True, kw_only=True)
class RemoveWeightDecay(Remedy):
    """Remove the weight decay.

    Why it helps:
        A strong decay pulls the weights to 0 faster than the gradients can push them away.

    Example:
        >>> RemoveWeightDecay().code
        'weight_decay = 0'
    """

    keeps_weights = True
    code = "weight_decay = 0"

    limit: float = threshold(0.0, "Weight decay up to this may stay.", least=0)

    def applies(self, recipe: Recipe) -> bool:
        least = MOST_DECAY if is_decoupled(recipe.optimizer) else 0.0  # which does nothing there
        groups = recipe.optimizer.param_groups
        return any(group.get("weight_decay", 0.0) > max(least, self.limit) for group in groups)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not self.applies(recipe):
            return None
        return recipe.with_settings(self.code, weight_decay=0.0)


def most_decay(optimizer: Optimizer) -> float:
    """Return the strongest weight decay that is usual for an optimizer.

    >>> from torch import optim, zeros
    >>> [most_decay(kind([zeros(1)])) for kind in (optim.Adam, optim.AdamW)]
    [0.001, 0.01]
    """
    return MOST_DECAY if is_decoupled(optimizer) else MOST_PENALTY


def is_decoupled(optimizer: Optimizer) -> bool:
    """Return whether the decay of an optimizer is apart from the gradient."""
    return type(optimizer).__name__ in DECOUPLED
