from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.remedies.usual_learning_rate import usual_rate


@dataclass(frozen=True, kw_only=True)
class SetLearningRate(Remedy):
    """Set the learning rate to a multiple of the optimizer's usual one.

    Why it helps:
        Whatever the rate was before, these are the rates that are worth a try.

    Example:
        >>> SetLearningRate(factor=10).words
        'use 10 times the usual learning rate of the optimizer'
    """

    words_template = "use {factor:g} times the usual learning rate of the optimizer"
    code_template = "lr = {factor:g} * 0.001  # 0.01 for SGD"

    factor: float = threshold(1.0, "Factor to multiply the usual rate by.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        lr = self.factor * usual_rate(recipe)
        return recipe.with_lr(lr, f"lr = {lr:g}") if abs(recipe.lr - lr) > 1e-9 * lr else None
