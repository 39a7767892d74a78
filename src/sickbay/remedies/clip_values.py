from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class ClipValues(Remedy):
    """Clip each value of the gradients.

    Why it helps:
        No single value can change the weights too much.

    Example:
        >>> ClipValues().code
        'nn.utils.clip_grad_value_(model.parameters(), 10)'
    """

    safety = "live"  # touches neither weights nor optimizer state
    keeps_weights = True
    code_template = "nn.utils.clip_grad_value_(model.parameters(), {limit:g})"
    words_template = "clip each value of the gradients to {limit:g}"

    limit: float = threshold(10.0, "Largest absolute value.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.clip_value is not None and recipe.clip_value <= self.limit:
            return None
        return recipe.but(self.code, clip_value=self.limit)
