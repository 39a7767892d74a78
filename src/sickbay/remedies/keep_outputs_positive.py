import torch
from torch import Tensor

from sickbay.loss_probe import harmless
from sickbay.model_copies import run
from sickbay.recipe import Loss
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import output_activation, replace_output


@dataclass(frozen=True, kw_only=True)
class KeepOutputsPositive(Remedy):
    """Keep the outputs positive with a softplus, for a loss that takes no negative numbers.

    Why it helps:
        The likelihood of a count or the logarithm of a quantity needs a positive prediction, and a
        linear layer also gives negative ones.

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
        if not isinstance(outputs, Tensor) or not needs_positive(
            recipe.loss, outputs, recipe.targets
        ):
            return None
        if output_activation(recipe.model, recipe.example) != "linear":
            return None
        changed = replace_output(recipe.model, recipe.example, "softplus")
        return recipe.with_model(changed, self.code)


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
