from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy


@dataclass(frozen=True, kw_only=True)
class SkipBadBatches(Remedy):
    """Leave out batches whose gradient is not finite.

    Why it helps:
        One NaN in a gradient makes every weight NaN, for good.

    Safety:
        Live. The batch is dropped before it reaches the weights.

    Example:
        >>> SkipBadBatches().code
        'if not torch.isfinite(loss): continue'
    """

    safety = "live"
    keeps_weights = True
    between_runs = False

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None if recipe.skip_bad_batches else recipe.but(self.code, skip_bad_batches=True)

    @property
    def code(self) -> str:
        return "if not torch.isfinite(loss): continue"
