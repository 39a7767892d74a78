from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy

# What works with each kind of optimizer more often than not.
SGD_LIKE = ("SGD", "ASGD", "Rprop")


@dataclass(frozen=True, kw_only=True)
class UsualLearningRate(Remedy):
    """Use the learning rate that is usual for the optimizer.

    Why it helps:
        A rate that is far off learns nothing, or unlearns everything.

    Safety:
        Retrain. A running loop may be on purpose where it is.

    Example:
        >>> UsualLearningRate().words
        'use the learning rate that is usual for the optimizer'
    """

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        lr = 0.01 if type(recipe.optimizer).__name__ in SGD_LIKE else 0.001
        return recipe.with_lr(lr, f"lr = {lr:g}") if recipe.lr != lr else None

    @property
    def code(self) -> str:
        return "lr = 0.001  # 0.01 for SGD"
