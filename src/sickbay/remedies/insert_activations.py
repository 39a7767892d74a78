from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import insert_activations


@dataclass(frozen=True, kw_only=True)
class InsertActivations(Remedy):
    """Put a ReLU between layers that have no activation between them.

    Why it helps:
        Without an activation, several layers can do no more than one.

    Example:
        >>> InsertActivations().code
        'model = sickbay.surgery.insert_activations(model, (x,))'
    """

    specific = True
    code = "model = sickbay.surgery.insert_activations(model, (x,))"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(insert_activations(recipe.model, recipe.example), self.code)
