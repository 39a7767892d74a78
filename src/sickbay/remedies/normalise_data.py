from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.remedies.process_data import ProcessData

SPREAD = 3  # standard deviations within which almost all values lie


@dataclass(frozen=True, kw_only=True)
class NormaliseData(Remedy):
    """Normalise the inputs and drop outliers, if the data is abnormal.

    Why it helps:
        Large outputs in a network with ordinary inputs have another cause, and another cure.

    Example:
        >>> NormaliseData().words
        'normalise the inputs and drop outliers, if the data is abnormal'
    """

    code = ProcessData.code

    limit: float = threshold(10.0, "Inputs that reach this are abnormal.", above=0)

    def applies(self, recipe: Recipe) -> bool:
        if recipe.inputs is None or recipe.clean_data:
            return False
        mean, std = recipe.inputs
        return recipe.bad_samples or bool((mean.abs() + SPREAD * std >= self.limit).any())

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return ProcessData().prescribe(finding, recipe) if self.applies(recipe) else None
