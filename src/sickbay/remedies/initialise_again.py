from sickbay.remedies.base import Finding, Recipe, Remedy, choice, dataclass
from sickbay.surgery import initialise
from sickbay.surgery.initialising_weights import SCHEMES


@dataclass(frozen=True, kw_only=True)
class InitialiseAgain(Remedy):
    """Draw new initial weights.

    Why it helps:
        Initial weights that are too large or too small make every signal explode or vanish, layer
        by layer.

    Example:
        >>> InitialiseAgain(scheme="he_normal").code
        "model = sickbay.surgery.initialise(model, 'he_normal', seed=0)"
    """

    code_template = "model = sickbay.surgery.initialise(model, {scheme!r}, seed=0)"

    scheme: str = choice("he_uniform", "How to draw the weights.", tuple(SCHEMES))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_model(initialise(recipe.model, self.scheme, seed=0), self.code)

    @property
    def words(self) -> str:
        scheme, _, kind = self.scheme.partition("_")
        name = {"he": "He", "lecun": "LeCun", "glorot": "Glorot"}[scheme]
        return f"draw new initial weights ({name}, {kind})"
