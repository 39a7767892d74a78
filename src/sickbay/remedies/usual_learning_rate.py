from torch.optim import ASGD, SGD, Rprop

from sickbay.problems.shared.usual_rates import ADAPTIVE_RATE as ADAPTIVE_RATE
from sickbay.problems.shared.usual_rates import SGD_RATE as SGD_RATE
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass

SGD_LIKE = (SGD, ASGD, Rprop)


@dataclass(frozen=True, kw_only=True)
class UsualLearningRate(Remedy):
    """Use the usual learning rate of the optimizer.

    Why it helps:
        At a rate that is far off, a model learns nothing or unlearns everything.

    Example:
        >>> UsualLearningRate().words
        'use the usual learning rate of the optimizer'
    """

    code = "lr = 0.001  # 0.01 for SGD"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        lr = usual_rate(recipe)
        return recipe.with_lr(lr, f"lr = {lr:g}") if recipe.lr != lr else None


def usual_rate(recipe: Recipe) -> float:
    """Return the usual learning rate of the optimizer."""
    return SGD_RATE if isinstance(recipe.optimizer, SGD_LIKE) else ADAPTIVE_RATE
