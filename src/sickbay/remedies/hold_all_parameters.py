from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe, optimizer_for
from sickbay.remedies.base import Remedy


@dataclass(frozen=True, kw_only=True)
class HoldAllParameters(Remedy):
    """Give the optimizer all trainable parameters.

    Why it helps:
        What it does not hold stays as it was drawn at random; so does what has a rate of 0.

    Safety:
        Retrain. An optimizer is made anew.

    Example:
        >>> HoldAllParameters().code
        'optimizer = type(optimizer)(model.parameters(), lr=lr)'
    """

    keeps_weights = True

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

    @property
    def code(self) -> str:
        return "optimizer = type(optimizer)(model.parameters(), lr=lr)"
