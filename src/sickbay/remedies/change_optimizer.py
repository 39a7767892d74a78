from collections.abc import Mapping
from typing import Any

from torch import optim

from sickbay.remedies.base import Finding, Recipe, Remedy, choice, dataclass

KINDS: Mapping[str, tuple[Any, dict[str, float]]] = {
    "adam": (optim.Adam, {"lr": 1e-3}),
    "sgd": (optim.SGD, {"lr": 1e-2}),
    "sgd_momentum": (optim.SGD, {"lr": 1e-2, "momentum": 0.9}),
    "nadam": (optim.NAdam, {"lr": 2e-3}),
    "adamax": (optim.Adamax, {"lr": 2e-3}),
    "rmsprop": (optim.RMSprop, {"lr": 1e-3}),
}


@dataclass(frozen=True, kw_only=True)
class ChangeOptimizer(Remedy):
    """Use another optimizer, with its usual learning rate.

    Why it helps:
        An adaptive optimizer finds a step of the right size for every weight.

    Example:
        >>> ChangeOptimizer(to="sgd_momentum").code
        'optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)'
    """

    to: str = choice("adam", "The new optimizer.", list(KINDS))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        kind, settings = KINDS[self.to]
        group = recipe.optimizer.param_groups[0]
        same = all(group.get(name) == value for name, value in settings.items())
        if type(recipe.optimizer) is kind and same:
            return None
        return recipe.with_optimizer(kind, self.code, **settings)

    @property
    def code(self) -> str:
        kind, settings = KINDS[self.to]
        arguments = ", ".join(f"{name}={value:g}" for name, value in settings.items())
        return f"optimizer = torch.optim.{kind.__name__}(model.parameters(), {arguments})"

    @property
    def words(self) -> str:
        kind, settings = KINDS[self.to]
        momentum = " with momentum" if "momentum" in settings else ""
        return f"use {kind.__name__}{momentum}, learning rate {settings['lr']:g}"
