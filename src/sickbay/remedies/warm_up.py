from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class WarmUp(Remedy):
    """Warm up the learning rate.

    Why it helps:
        The first gradients are the largest, and adaptive optimizers have no statistics yet.

    Example:
        >>> WarmUp(steps=100).code
        'lr = lr * min(1, step / 100)'
    """

    code_template = "lr = lr * min(1, step / {steps})"
    words_template = "warm up the learning rate over {steps} steps"

    steps: int = threshold(100, "Steps until the full learning rate.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None if recipe.warmup >= self.steps else recipe.but(self.code, warmup=self.steps)
