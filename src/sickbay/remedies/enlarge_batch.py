from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.remedies.larger_batches import with_batch_size


@dataclass(frozen=True, kw_only=True)
class EnlargeBatch(Remedy):
    """Double the batch size, to at least 32.

    Why it helps:
        The mean over more samples is less noisy.

    Example:
        >>> EnlargeBatch().code
        'batch_size = min(max(32, 2 * batch_size), 256)'
    """

    keeps_weights = True
    code_template = "batch_size = min(max(32, 2 * batch_size), {most})"

    most: int = threshold(256, "The largest batch.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        size = min(max(32, 2 * recipe.batch_size), self.most)
        return with_batch_size(recipe, size, self.code) if size > recipe.batch_size else None
