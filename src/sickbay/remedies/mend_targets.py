from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass


@dataclass(frozen=True, kw_only=True)
class MendTargets(Remedy):
    """Check the targets, and correct them to what the loss expects.

    Why it helps:
        No model can learn from labels that are constant, out of range or missing.

    Example:
        >>> MendTargets().code
        'print(y.min(), y.max(), y.unique())'
    """

    safety = "advice"  # only a person knows what they should be
    between_runs = False
    code = "print(y.min(), y.max(), y.unique())"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None
