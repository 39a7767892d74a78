from dataclasses import dataclass, replace

from sickbay.remedies.base import Finding, Recipe, Remedy, threshold


@dataclass(frozen=True, kw_only=True)
class ClipNorm(Remedy):
    """Clip the norm of the gradients.

    Why it helps:
        A step that is too large keeps its direction; only its length is reduced.

    Example:
        >>> ClipNorm().code
        'nn.utils.clip_grad_norm_(model.parameters(), 1)'
    """

    safety = "live"  # touches neither weights nor optimizer state
    keeps_weights = True
    code_template = "nn.utils.clip_grad_norm_(model.parameters(), {limit:g})"
    words_template = "clip the norm of the gradients to {limit:g}"

    limit: float = threshold(1.0, "Largest norm of all gradients together.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        # Clipping norms that were fine before a spike would only slow training down.
        limit = max(self.limit, finding.evidence.get("usual_norm", 0.0))
        if recipe.clip_norm is not None and recipe.clip_norm <= limit:
            return None
        return recipe.but(replace(self, limit=limit).code, clip_norm=limit)
