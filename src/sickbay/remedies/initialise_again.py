from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.surgery import initialise
from sickbay.thresholds import choice

SCHEMES = (
    "he_uniform", "he_normal", "lecun_uniform", "lecun_normal", "glorot_uniform", "glorot_normal",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InitialiseAgain(Remedy):
    """Draw new initial weights.

    Why it helps:
        Weights that are too large or too small from the start make every signal explode or vanish,
        layer by layer.

    Safety:
        Retrain. What was learnt is lost.

    Example:
        >>> InitialiseAgain(scheme="he_normal").code
        "model = sickbay.surgery.initialise(model, 'he_normal', seed=0)"
    """

    scheme: str = choice("he_uniform", "How the weights are drawn.", SCHEMES)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(initialise(recipe.model, self.scheme, seed=0), self.code)

    @property
    def code(self) -> str:
        return f"model = sickbay.surgery.initialise(model, {self.scheme!r}, seed=0)"

    @property
    def words(self) -> str:
        scheme, _, kind = self.scheme.partition("_")
        name = {"he": "He", "lecun": "LeCun", "glorot": "Glorot"}[scheme]
        return f"draw the initial weights anew ({name}, {kind})"
