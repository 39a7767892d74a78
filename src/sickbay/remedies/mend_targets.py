from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy


@dataclass(frozen=True, kw_only=True)
class MendTargets(Remedy):
    """Look at the targets, and make them what the loss expects.

    Why it helps:
        No training can learn from labels that are constant, out of range or missing.

    Safety:
        Advice. What they should be, only a person knows.

    Example:
        >>> MendTargets().code
        'print(y.min(), y.max(), y.unique())'
    """

    safety = "advice"
    between_runs = False

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None

    @property
    def code(self) -> str:
        return "print(y.min(), y.max(), y.unique())"
