from sickbay.remedies.base import Finding, Recipe, Remedy, choice, dataclass
from sickbay.surgery import initialise, replace_activations

# The initial weights that keep signals at their size under each activation.
FITTING = {"selu": "lecun_normal", "relu": "he_uniform", "leaky_relu": "he_uniform",
           "elu": "he_uniform", "tanh": "glorot_uniform"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReplaceActivation(Remedy):
    """Replace the hidden activations, and draw initial weights that suit them.

    Why it helps:
        A sigmoid passes on at most a quarter of a gradient, and a silent ReLU passes on nothing.
        The new activation does better if the weights start at the size that it needs.

    Example:
        >>> ReplaceActivation(to="selu").words
        'replace the hidden activations with SELU, LeCun initialisation'
    """

    to: str = choice("selu", "The new activation.", list(FITTING))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        changed = replace_activations(recipe.model, recipe.example, self.to)
        changed = initialise(changed, FITTING[self.to], seed=0)
        return recipe.with_model(changed, *self.code.splitlines())

    @property
    def code(self) -> str:
        return (
            f"model = sickbay.surgery.replace_activations(model, (x,), {self.to!r})\n"
            f"model = sickbay.surgery.initialise(model, {FITTING[self.to]!r}, seed=0)"
        )

    @property
    def words(self) -> str:
        name = {"selu": "SELU", "relu": "ReLU", "leaky_relu": "LeakyReLU", "elu": "ELU"}
        scheme = {"l": "LeCun", "h": "He", "g": "Glorot"}[FITTING[self.to][0]]
        to = name.get(self.to, self.to)
        return f"replace the hidden activations with {to}, {scheme} initialisation"
