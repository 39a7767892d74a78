from dataclasses import dataclass, field

from sickbay.arguments import bad_argument
from sickbay.remedies.base import Finding, Recipe, Remedy
from sickbay.remedies.clip_norm import ClipNorm
from sickbay.remedies.initialise_again import InitialiseAgain


@dataclass(frozen=True, kw_only=True)
class Together(Remedy):
    """Use two remedies at once.

    Why it helps:
        Some models need both: new weights to start from, and something that keeps them stable.

    Example:
        >>> Together().words
        'draw new initial weights (LeCun, normal), and clip the norm of the gradients to 1'
    """

    code_template = "{first.code}\n{second.code}"
    words_template = "{first}, and {second}"

    first: Remedy = field(default=InitialiseAgain(scheme="lecun_normal"))
    second: Remedy = field(default=ClipNorm())

    def __post_init__(self) -> None:
        for name, value in (("first", self.first), ("second", self.second)):
            if not isinstance(value, Remedy):
                raise bad_argument(name, "a Remedy", value)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        changed = self.first.prescribe(finding, recipe)
        return None if changed is None else self.second.prescribe(finding, changed)

    @property
    def key(self) -> str:
        return f"{self.name()}: {self.first.key}, {self.second.key}"
