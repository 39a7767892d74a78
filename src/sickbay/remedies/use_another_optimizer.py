from sickbay.remedies.base import Finding, Recipe, Remedy, choice, dataclass
from sickbay.remedies.change_optimizer import KINDS
from sickbay.remedies.usual_learning_rate import ADAPTIVE_RATE, SGD_RATE


@dataclass(frozen=True, kw_only=True)
class UseAnotherOptimizer(Remedy):
    """Use another kind of optimizer, with its published learning rate.

    Why it helps:
        Where one kind of step gets nowhere, another one may.

    Example:
        >>> UseAnotherOptimizer(to="nadam").words
        'use NAdam instead of the present optimizer'
    """

    to: str = choice("adam", "The new optimizer.", ("adam", "nadam", "adamax", "rmsprop", "sgd"))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        kind = KINDS[self.to][0]
        if type(recipe.optimizer) is kind:
            return None
        return recipe.with_optimizer(kind, self.code, lr=self._rate)

    @property
    def _rate(self) -> float:
        return SGD_RATE if self.to == "sgd" else ADAPTIVE_RATE

    @property
    def code(self) -> str:
        name = KINDS[self.to][0].__name__
        return f"optimizer = torch.optim.{name}(model.parameters(), lr={self._rate:g})"

    @property
    def words(self) -> str:
        return f"use {KINDS[self.to][0].__name__} instead of the present optimizer"
