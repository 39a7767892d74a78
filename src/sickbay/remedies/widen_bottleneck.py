from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.surgery import widen_layers


@dataclass(frozen=True, kw_only=True)
class WidenBottleneck(Remedy):
    """Widen the narrowest layers, even of a model that is meant to squeeze its inputs.

    Why it helps:
        An autoencoder needs a narrow layer, but one of a few units loses what makes samples differ.

    Example:
        >>> WidenBottleneck(to=8).code
        'model = sickbay.surgery.widen_layers(model, (x,), 8, seed=0, squeezing=True)'
    """

    code_template = (
        "model = sickbay.surgery.widen_layers(model, (x,), {to}, seed=0, squeezing=True)"
    )
    words_template = "widen the narrowest layers to {to} units"

    to: int = threshold(16, "The least units of a hidden layer.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        model = widen_layers(recipe.model, recipe.example, self.to, seed=0, squeezing=True)
        return recipe.with_model(model, self.code)
