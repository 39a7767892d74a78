from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.surgery import add_dropout


@dataclass(frozen=True, kw_only=True)
class AddDropout(Remedy):
    """Drop units at random during training.

    Why it helps:
        The model cannot rely on any single unit, so it memorises less.

    Example:
        >>> AddDropout(share=0.2).code
        'model = sickbay.surgery.add_dropout(model, (x,), 0.2)'
    """

    code_template = "model = sickbay.surgery.add_dropout(model, (x,), {share:g})"

    share: float = threshold(
        0.1, "Share of units to drop in addition to any existing dropout.", above=0
    )

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(add_dropout(recipe.model, recipe.example, self.share), self.code)

    @property
    def words(self) -> str:
        return f"drop {100 * self.share:g} % of the units at random during training"
