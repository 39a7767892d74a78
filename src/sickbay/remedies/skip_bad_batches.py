from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass


@dataclass(frozen=True, kw_only=True)
class SkipBadBatches(Remedy):
    """Skip batches whose gradient is not finite.

    Why it helps:
        A single NaN in a gradient makes every weight NaN, for good.

    Example:
        >>> SkipBadBatches().code
        'if not torch.isfinite(loss): continue'
    """

    safety = "live"  # drops the batch before it reaches the weights
    keeps_weights = True
    between_runs = False
    code = "if not torch.isfinite(loss): continue"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None if recipe.skip_bad_batches else recipe.but(self.code, skip_bad_batches=True)
