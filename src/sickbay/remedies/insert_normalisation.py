from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.surgery import insert_normalisation


@dataclass(frozen=True, kw_only=True)
class InsertNormalisation(Remedy):
    """Normalise before each hidden activation.

    Why it helps:
        Whatever a layer does to the size of its signals is undone before the next one.

    Safety:
        Retrain. The model gets new layers.

    Example:
        >>> InsertNormalisation().code
        'model = sickbay.surgery.insert_normalisation(model, (x,))'
    """

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(insert_normalisation(recipe.model, recipe.example), self.code)

    @property
    def code(self) -> str:
        return "model = sickbay.surgery.insert_normalisation(model, (x,))"
