from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class RollBack(Remedy):
    """Go back to the last healthy weights, and pass over the data in between.

    Why it helps:
        The damage of a few bad batches is undone, and they do not come again.

    Safety:
        Live, a bounded number of times.

    Example:
        >>> RollBack().words
        'go back to the last healthy weights, and pass over the data in between'
    """

    safety = "live"
    keeps_weights = True
    between_runs = False

    most: int = threshold(3, "Times it may be done in a run.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.rollbacks >= self.most:
            return None
        return recipe.but(self.code, rollbacks=recipe.rollbacks + 1)

    @property
    def code(self) -> str:
        return "model.load_state_dict(last_healthy)"
