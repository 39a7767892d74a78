from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.surgery import add_dropout
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class AddDropout(Remedy):
    """Drop units at random while training.

    Why it helps:
        What no single unit can be relied on for is not learnt by heart.

    Safety:
        Retrain. The model gets new layers.

    Example:
        >>> AddDropout(share=0.2).code
        'model = sickbay.surgery.add_dropout(model, (x,), 0.2)'
    """

    share: float = threshold(0.1, "The share of units that is dropped, on top.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(add_dropout(recipe.model, recipe.example, self.share), self.code)

    @property
    def code(self) -> str:
        return f"model = sickbay.surgery.add_dropout(model, (x,), {self.share:g})"

    @property
    def words(self) -> str:
        return f"drop {100 * self.share:g} % of the units at random while training"
