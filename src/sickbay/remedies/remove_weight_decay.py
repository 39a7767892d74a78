from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class RemoveWeightDecay(Remedy):
    """Remove the weight decay.

    Why it helps:
        A strong decay pulls the weights to 0 faster than the gradients can push them away.

    Example:
        >>> RemoveWeightDecay().code
        'weight_decay = 0'
    """

    keeps_weights = True
    code = "weight_decay = 0"

    limit: float = threshold(0.0, "Weight decay up to this may stay.", least=0)

    def applies(self, recipe: Recipe) -> bool:
        groups = recipe.optimizer.param_groups
        return any(group.get("weight_decay", 0.0) > self.limit for group in groups)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not self.applies(recipe):
            return None
        return recipe.with_settings(self.code, weight_decay=0.0)
