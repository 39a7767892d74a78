from torch import Tensor

from sickbay.model_copies import run
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.fit_loss_to_task import Fitted
from sickbay.remedies.padding import padding
from sickbay.remedies.without_padding import without_padding


@dataclass(frozen=True, kw_only=True)
class IgnorePadding(Remedy):
    """Leave the padding at the end of sequences out of the loss.

    Why it helps:
        Where most positions are padding, a model that says nothing else already has a low loss, and
        gradients are mostly about the padding.

    Example:
        >>> IgnorePadding().code
        'loss = nn.CrossEntropyLoss(ignore_index=padding)'
    """

    specific = True
    keeps_weights = True
    code = "loss = nn.CrossEntropyLoss(ignore_index=padding)"

    def applies(self, recipe: Recipe) -> bool:
        return _label(recipe) is not None

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        label = _label(recipe)
        if label is None or recipe.targets is None:
            return None
        outputs = run(recipe.model, recipe.example, training=False)
        if not isinstance(outputs, Tensor):
            return None
        targets = recipe.targets[: len(recipe.example[0])].to(outputs.device)
        made = without_padding(recipe.loss, label, outputs, targets)
        return None if made is None else recipe.but(made[1], loss=made[0])


def _label(recipe: Recipe) -> int | None:
    """Return the label of the padding, None if there is none or if the loss ignores it already."""
    if recipe.targets is None:
        return None
    label = padding(recipe.example, recipe.targets)
    loss = recipe.loss
    if label is None or not isinstance(loss, Fitted):
        return None if getattr(loss, "ignore_index", None) == label else label
    return None if getattr(loss.loss, "ignore_index", None) == label - loss.first else label
