from sickbay.optimizers import optimizer_for
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.hold_all_parameters import HoldAllParameters
from sickbay.surgery import register_modules
from sickbay.surgery.registering_modules import unregistered


@dataclass(frozen=True, kw_only=True)
class RegisterModules(Remedy):
    """Register the modules in plain lists and dicts, and give them to the optimizer.

    Why it helps:
        torch finds parameters only in modules that are registered. The others never learn, and are
        missing from saved weights.

    Example:
        >>> RegisterModules().code.splitlines()[0]
        'model = sickbay.surgery.register_modules(model)'
    """

    specific = True
    code = f"model = sickbay.surgery.register_modules(model)\n{HoldAllParameters.code}"

    def applies(self, recipe: Recipe) -> bool:
        return bool(unregistered(recipe.model))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not self.applies(recipe):
            return None
        model = register_modules(recipe.model)
        optimizer = optimizer_for(model, recipe.model, recipe.optimizer, all_=True)
        return recipe.but(*self.code.splitlines(), model=model, optimizer=optimizer)
