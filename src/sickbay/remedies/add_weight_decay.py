from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class AddWeightDecay(Remedy):
    """Add weight decay.

    Why it helps:
        Smaller weights make smoother functions, which memorise less.

    Example:
        >>> AddWeightDecay().code
        'weight_decay = 0.01'
    """

    code_template = "weight_decay = {amount:g}"

    amount: float = threshold(0.01, "The weight decay of the optimizer.", above=0)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        groups = recipe.optimizer.param_groups
        if any("weight_decay" not in group for group in groups):
            return None
        if all(group["weight_decay"] >= self.amount for group in groups):
            return None
        return recipe.with_settings(self.code, weight_decay=self.amount)
