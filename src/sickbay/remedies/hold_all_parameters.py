from sickbay.optimizers import optimizer_for
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass


@dataclass(frozen=True, kw_only=True)
class HoldAllParameters(Remedy):
    """Give the optimizer all trainable parameters.

    Why it helps:
        Parameters that are not in the optimizer, or that have a learning rate of 0, keep their
        random initial values.

    Example:
        >>> HoldAllParameters().code
        'optimizer = type(optimizer)(model.parameters(), lr=lr)'
    """

    keeps_weights = True
    code = "optimizer = type(optimizer)(model.parameters(), lr=lr)"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        optimizer = optimizer_for(recipe.model, recipe.model, recipe.optimizer, all_=True)
        before = [len(group["params"]) for group in recipe.optimizer.param_groups]
        after = [len(group["params"]) for group in optimizer.param_groups]
        rates = [float(group["lr"]) for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] = max(rates)
        if before == after and len(set(rates)) == 1:
            return None
        return recipe.but(self.code, optimizer=optimizer)
