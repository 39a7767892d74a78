from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass


@dataclass(frozen=True, kw_only=True)
class ClearGradients(Remedy):
    """Clear the gradients before each backward pass.

    Why it helps:
        Otherwise each step also repeats the gradients of all earlier steps.

    Example:
        >>> ClearGradients().code
        'optimizer.zero_grad()'
    """

    safety = "advice"  # only the loop can do it
    between_runs = False
    code = "optimizer.zero_grad()"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None
