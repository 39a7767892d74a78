from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.surgery import widen_layers


@dataclass(frozen=True, kw_only=True)
class WidenLayers(Remedy):
    """Widen the hidden layers.

    Why it helps:
        A layer of a few units cannot pass on what the task needs, however long it is trained.

    Example:
        >>> WidenLayers(to=128).code
        'model = sickbay.surgery.widen_layers(model, (x,), 128, seed=0)'
    """

    code_template = "model = sickbay.surgery.widen_layers(model, (x,), {to}, seed=0)"
    words_template = "widen the hidden layers to at least {to} units"

    to: int = threshold(64, "The least units of a hidden layer.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        model = widen_layers(recipe.model, recipe.example, self.to, seed=0)
        return recipe.with_model(model, self.code)
