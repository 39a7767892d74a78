from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class ScaleLearningRate(Remedy):
    """Multiply the learning rate.

    Why it helps:
        Steps that are too large throw away what was learnt; steps that are too small get nowhere.

    Example:
        >>> ScaleLearningRate(factor=0.1).words, ScaleLearningRate(factor=10).code
        ('divide the learning rate by 10', 'lr = 10 * lr')
    """

    code_template = "lr = {factor:g} * lr"

    factor: float = threshold(0.1, "Factor to multiply the rate by.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_lr(self.factor * recipe.lr, self.code)

    @property
    def words(self) -> str:
        if self.factor < 1:
            return f"divide the learning rate by {1 / self.factor:g}"
        return f"multiply the learning rate by {self.factor:g}"
