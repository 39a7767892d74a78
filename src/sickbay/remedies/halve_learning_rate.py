from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass


@dataclass(frozen=True, kw_only=True)
class HalveLearningRate(Remedy):
    """Halve the learning rate.

    Why it helps:
        After a jump, smaller steps bring the loss back down; on a plateau, they let it fall
        further.

    Example:
        >>> HalveLearningRate().code
        'lr = 0.5 * lr'
    """

    safety = "live"  # weights and optimizer state stay as they are
    keeps_weights = True
    code = "lr = 0.5 * lr"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_lr(0.5 * recipe.lr, self.code)
