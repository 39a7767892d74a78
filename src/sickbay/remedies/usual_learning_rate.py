from torch.optim import ASGD, SGD, Rprop

from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass

SGD_LIKE = (SGD, ASGD, Rprop)  # most often work with 0.01, others with 0.001


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
        lr = 0.01 if isinstance(recipe.optimizer, SGD_LIKE) else 0.001
        return recipe.with_lr(lr, f"lr = {lr:g}") if recipe.lr != lr else None
