from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import draw_constant_weights
from sickbay.surgery.drawing_constant_weights import is_constant


@dataclass(frozen=True, kw_only=True)
class DrawConstantWeights(Remedy):
    """Draw the weights of layers that start with the same number everywhere.

    Why it helps:
        Units that start alike get the same gradient, so they stay alike and count as one. If all
        are 0, some get none at all.

    Example:
        >>> DrawConstantWeights().code
        'model = sickbay.surgery.draw_constant_weights(model, seed=0)'
    """

    specific = True
    code = "model = sickbay.surgery.draw_constant_weights(model, seed=0)"

    def applies(self, recipe: Recipe) -> bool:
        return any(map(is_constant, recipe.model.modules()))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not self.applies(recipe):
            return None
        return recipe.with_model(draw_constant_weights(recipe.model, seed=0), self.code)
