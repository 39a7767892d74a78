from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy


@dataclass(frozen=True, kw_only=True)
class HalveLearningRate(Remedy):
    """Halve the learning rate.

    Why it helps:
        After a jump, smaller steps find the way back; on a plateau they find the way down.

    Safety:
        Live. Weights and optimizer state stay as they are.

    Example:
        >>> HalveLearningRate().code
        'lr = 0.5 * lr'
    """

    safety = "live"
    keeps_weights = True

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_lr(0.5 * recipe.lr, self.code)

    @property
    def code(self) -> str:
        return "lr = 0.5 * lr"
