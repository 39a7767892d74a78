from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.surgery import lower_dropout


@dataclass(frozen=True, kw_only=True)
class LowerDropout(Remedy):
    """Lower the dropout, or remove it.

    Why it helps:
        What is dropped cannot be learnt from, and the model never sees two units work together.

    Example:
        >>> LowerDropout(to=0.1).code
        'model = sickbay.surgery.lower_dropout(model, (x,), 0.1)'
    """

    keeps_weights = True
    code_template = "model = sickbay.surgery.lower_dropout(model, (x,), {to:g})"

    to: float = threshold(0.0, "The most that a layer may drop.", least=0, most=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(lower_dropout(recipe.model, recipe.example, self.to), self.code)

    @property
    def words(self) -> str:
        return f"lower the dropout to {100 * self.to:g} %" if self.to else "remove the dropout"
