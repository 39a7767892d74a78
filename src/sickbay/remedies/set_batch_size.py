from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.remedies.larger_batches import with_batch_size


@dataclass(frozen=True, kw_only=True)
class SetBatchSize(Remedy):
    """Raise the batch size to a given one.

    Why it helps:
        The mean over more samples is less noisy.

    Example:
        >>> SetBatchSize(to=64).code
        'batch_size = 64'
    """

    code_template = "batch_size = {to}"
    words_template = "raise the batch size to {to}"

    to: int = threshold(32, "The new batch size.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        larger = self.to > recipe.batch_size
        return with_batch_size(recipe, self.to, self.code) if larger else None
