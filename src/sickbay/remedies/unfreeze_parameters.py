from sickbay.model_copies import copy_of
from sickbay.optimizers import optimizer_for
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.hold_all_parameters import HoldAllParameters


@dataclass(frozen=True, kw_only=True)
class UnfreezeParameters(Remedy):
    """Make all parameters trainable, and give them to the optimizer.

    Why it helps:
        A frozen layer with random weights passes on little of its input, and never gets better.

    Example:
        >>> UnfreezeParameters().code.splitlines()[0]
        'model = model.requires_grad_(True)  # before the optimizer is made'
    """

    specific = True
    keeps_weights = True
    code = (
        "model = model.requires_grad_(True)  # before the optimizer is made\n"
        f"{HoldAllParameters.code}"
    )

    def applies(self, recipe: Recipe) -> bool:
        return any(not each.requires_grad for each in recipe.model.parameters())

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not self.applies(recipe):
            return None
        model = copy_of(recipe.model)
        for each in model.parameters():
            each.requires_grad_(each.is_floating_point() or each.is_complex())
        optimizer = optimizer_for(model, recipe.model, recipe.optimizer, all_=True)
        return recipe.but(*self.code.splitlines(), model=model, optimizer=optimizer)
