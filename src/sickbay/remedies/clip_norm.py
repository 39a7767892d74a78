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

    treats = (
        "exploding_gradient", "learning_rate_too_high", "non_finite", "loss_spike",
        "gradient_spike", "large_gradient", "loss_explosion", "unstable_gradient",
    )  # fmt: skip
    safety = "live"
    keeps_weights = True

    limit: float = threshold(1.0, "The largest norm of all gradients together.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        # What the norm was before a spike is no trouble, and clipping it would slow training down.
        usual = finding.evidence.get("high", 0.0) if finding.problem == "gradient_spike" else 0.0
        limit = max(self.limit, usual)
        if recipe.clip_norm is not None and recipe.clip_norm <= limit:
            return None
        return recipe.but(replace(self, limit=limit).code, clip_norm=limit)

    @property
    def code(self) -> str:
        return f"nn.utils.clip_grad_norm_(model.parameters(), {self.limit:g})"

    @property
    def words(self) -> str:
        return f"clip the norm of the gradients to {self.limit:g}"
