from dataclasses import dataclass, replace

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class ClipNorm(Remedy):
    """Clip the norm of the gradients.

    Why it helps:
        The direction of an oversized step is kept; only its length is cut.

    Safety:
        Live. It touches neither weights nor optimizer state.

    Example:
        >>> ClipNorm().code
        'nn.utils.clip_grad_norm_(model.parameters(), 1)'
    """

    safety = "live"
    keeps_weights = True

    limit: float = threshold(1.0, "The largest norm of all gradients together.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        # Clipping norms that were fine before a spike would only slow training down.
        limit = max(self.limit, finding.evidence.get("usual_norm", 0.0))
        if recipe.clip_norm is not None and recipe.clip_norm <= limit:
            return None
        return recipe.but(replace(self, limit=limit).code, clip_norm=limit)

    @property
    def code(self) -> str:
        return f"nn.utils.clip_grad_norm_(model.parameters(), {self.limit:g})"

    @property
    def words(self) -> str:
        return f"clip the norm of the gradients to {self.limit:g}"
