from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class RollBack(Remedy):
    """Return to the last healthy weights, and skip the data in between.

    Why it helps:
        This undoes the damage of a few bad batches, and these batches are not used again.

    Example:
        >>> RollBack().words
        'return to the last healthy weights, and skip the data in between'
    """

    safety = "live"  # a bounded number of times
    keeps_weights = True
    between_runs = False

    most: int = threshold(3, "How often it may be done in a run.", least=1)

    code = "model.load_state_dict(last_healthy)"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.rollbacks >= self.most:
            return None
        return recipe.but(self.code, rollbacks=recipe.rollbacks + 1)
