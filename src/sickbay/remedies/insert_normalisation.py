from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import insert_normalisation


@dataclass(frozen=True, kw_only=True)
class InsertNormalisation(Remedy):
    """Normalise before each hidden activation.

    Why it helps:
        Every layer gets signals of the same size, whatever the previous layer does to them.

    Example:
        >>> InsertNormalisation().code
        'model = sickbay.surgery.insert_normalisation(model, (x,))'
    """

    code = "model = sickbay.surgery.insert_normalisation(model, (x,))"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(insert_normalisation(recipe.model, recipe.example), self.code)
