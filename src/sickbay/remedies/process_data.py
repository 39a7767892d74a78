from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import standardise_inputs


@dataclass(frozen=True, kw_only=True)
class ProcessData(Remedy):
    """Normalise the inputs, and drop outliers and values that are not finite.

    Why it helps:
        Initial weights and learning rates are made for inputs with mean 0 and deviation 1.

    Example:
        >>> ProcessData().words
        'normalise the inputs, and drop outliers and values that are not finite'
    """

    code = (
        "good = sickbay.repairs.batch_sources.good(x); x, y = x[good], y[good]\n"
        "model = sickbay.surgery.standardise_inputs(model, x.mean(0), x.std(0))"
    )

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.inputs is None or recipe.clean_data:
            return None
        mean, std = recipe.inputs
        model = standardise_inputs(recipe.model, mean, std)
        return recipe.with_model(model, *self.code.splitlines()).but(clean_data=True)
