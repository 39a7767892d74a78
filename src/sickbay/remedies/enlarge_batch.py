from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class EnlargeBatch(Remedy):
    """Double the batch size, from 32 on.

    Why it helps:
        The mean over more samples is less noisy.

    Safety:
        Retrain. The data has to be read in other batches.

    Example:
        >>> EnlargeBatch().code
        'batch_size = min(max(32, 2 * batch_size), 256)'
    """

    keeps_weights = True

    most: int = threshold(256, "The largest batch.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        size = min(max(32, 2 * recipe.batch_size), self.most)
        return recipe.but(self.code, batch_size=size) if size > recipe.batch_size else None

    @property
    def code(self) -> str:
        return f"batch_size = min(max(32, 2 * batch_size), {self.most})"
