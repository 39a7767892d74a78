from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class LoosenClipping(Remedy):
    """Clip gradients less.

    Why it helps:
        If almost every gradient is clipped to far less than its size, the steps are too small to
        learn anything.

    Example:
        >>> LoosenClipping().code
        'nn.utils.clip_grad_norm_(model.parameters(), 1)'
    """

    specific = True
    keeps_weights = True
    code_template = "nn.utils.clip_grad_norm_(model.parameters(), {limit:g})"
    words_template = "clip gradients to a norm of {limit:g} or more"

    limit: float = threshold(1.0, "The least norm or value to clip to.", above=0)

    def applies(self, recipe: Recipe) -> bool:
        return any(now is not None and now < self.limit for now in _clipped(recipe).values())

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        low = {name: now for name, now in _clipped(recipe).items() if now and now < self.limit}
        lines = [f"{name} = {self.limit:g}" for name in low]
        return recipe.but(*lines, **dict.fromkeys(low, self.limit)) if low else None


def _clipped(recipe: Recipe) -> dict[str, float | None]:
    return {"clip_norm": recipe.clip_norm, "clip_value": recipe.clip_value}
