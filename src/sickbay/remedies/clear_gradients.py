from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy


@dataclass(frozen=True, kw_only=True)
class ClearGradients(Remedy):
    """Clear the gradients before each backward pass.

    Why it helps:
        Otherwise each step repeats all the steps before it.

    Safety:
        Advice. Only the loop can do it.

    Example:
        >>> ClearGradients().code
        'optimizer.zero_grad()'
    """

    safety = "advice"
    between_runs = False

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None

    @property
    def code(self) -> str:
        return "optimizer.zero_grad()"
