import torch
from torch import Tensor

from sickbay.loss_probe import harmless
from sickbay.model_copies import run
from sickbay.recipe import Loss
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import keep_positive, output_activation, replace_output

MOST_COLUMNS = 16  # that are tried one by one


@dataclass(frozen=True, kw_only=True)
class KeepOutputsPositive(Remedy):
    """Keep the outputs positive with a softplus, for a loss that takes no negative numbers.

    Why it helps:
        The likelihood of a count or the logarithm of a quantity needs a positive prediction, and a
        linear layer also gives negative ones. Of several outputs, those that must be positive are
        kept so, such as a variance beside a mean.

    Example:
        >>> KeepOutputsPositive().code
        "model = sickbay.surgery.replace_output(model, (x,), 'softplus')"
    """

    specific = True
    code = "model = sickbay.surgery.replace_output(model, (x,), 'softplus')"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.targets is None or recipe.setup.task not in ("regression", ""):
            return None
        outputs = run(recipe.model, recipe.example, training=False)
        if not isinstance(outputs, Tensor):
            return None
        columns = columns_above_zero(recipe.loss, outputs, recipe.targets)
        if columns:
            model = keep_positive(recipe.model, recipe.example, columns)
            return recipe.with_model(
                model, f"model = sickbay.surgery.keep_positive(model, (x,), {columns})"
            )
        if not needs_positive(recipe.loss, outputs, recipe.targets):
            return None
        if output_activation(recipe.model, recipe.example) != "linear":
            return None
        changed = replace_output(recipe.model, recipe.example, "softplus")
        return recipe.with_model(changed, self.code)


def columns_above_zero(loss: Loss, outputs: Tensor, targets: Tensor) -> list[int]:
    """Return the columns that must be above 0 for a loss to be finite, if others need not.

    >>> def gauss(o, y): return (o[:, 1].log() + (o[:, 0] - y) ** 2 / o[:, 1]).mean()
    >>> columns_above_zero(gauss, torch.rand(4, 2), torch.rand(4))
    [1]
    """
    if outputs.ndim != 2 or not 1 < outputs.shape[1] <= MOST_COLUMNS:
        return []
    known = targets[: len(outputs)].to(outputs.device)
    sizes = outputs[: len(known)].detach().nan_to_num().abs() + 1.0
    width = outputs.shape[1]
    if not is_finite(loss, sizes, known):
        return []
    found = [at for at in range(width) if not is_finite(loss, _negated(sizes, at), known)]
    return found if len(found) < width else []


def _negated(values: Tensor, column: int) -> Tensor:
    """Return values with another sign in one column."""
    changed = values.clone()
    changed[:, column] *= -1
    return changed


def is_finite(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss takes these outputs and is finite."""
    try:
        with torch.no_grad():
            return bool(torch.isfinite(harmless(loss)(outputs, targets)))
    except Exception:  # it takes something else than numbers
        return False


def needs_positive(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss is finite for positive outputs only.

    >>> one = torch.ones(4, 1)
    >>> [needs_positive(torch.nn.PoissonNLLLoss(log_input=log), one, one) for log in (False, True)]
    [True, False]
    """
    known = targets[: len(outputs)].to(outputs.device)
    sizes = outputs[: len(known)].detach().abs() + 1.0
    try:
        with torch.no_grad():
            values = [harmless(loss)(each, known) for each in (sizes, -sizes, -3 * sizes)]
        positive, *negative = (bool(torch.isfinite(each)) for each in values)
    except Exception:  # it takes something else than numbers
        return False
    return positive and not any(negative)
