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

    def applies(self, recipe: Recipe) -> bool:
        groups = recipe.optimizer.param_groups
        parameters = recipe.model.parameters()
        held = {id(each) for group in groups for each in group["params"]}
        left_out = any(each.requires_grad and id(each) not in held for each in parameters)
        return left_out or len({float(group.get("lr", 0.0)) for group in groups}) > 1

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not self.applies(recipe):
            return None
        optimizer = optimizer_for(recipe.model, recipe.model, recipe.optimizer, all_=True)
        rates = [float(group["lr"]) for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] = max(rates)
        return recipe.but(self.code, optimizer=optimizer)
