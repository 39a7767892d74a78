from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.surgery import standardise_inputs


@dataclass(frozen=True, kw_only=True)
class ProcessData(Remedy):
    """Normalise the inputs; leave out outliers and values that are no numbers.

    Why it helps:
        Initial weights and learning rates are made for inputs of mean 0 and deviation 1.

    Safety:
        Retrain. The first layer has learnt other inputs.

    Example:
        >>> ProcessData().words
        'normalise the inputs; leave out outliers and values that are no numbers'
    """

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.inputs is None or recipe.clean_data:
            return None
        mean, std = recipe.inputs
        model = standardise_inputs(recipe.model, mean, std)
        return recipe.with_model(model, *self.code.splitlines()).but(clean_data=True)

    @property
    def code(self) -> str:
        return (
            "good = sickbay.repairs.batch_sources.good(x); x, y = x[good], y[good]\n"
            "model = sickbay.surgery.standardise_inputs(model, x.mean(0), x.std(0))"
        )
