from math import prod

from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.fit_loss_to_task import new_loss, width
from sickbay.surgery import output_activation, replace_output, resize_output

MOST_CLASSES = 1000  # more different labels are quantities


@dataclass(frozen=True, kw_only=True)
class ChangeLoss(Remedy):
    """Use the loss that fits the task.

    Why it helps:
        Training minimises the loss, so the loss must be lowest when the model is right.

    Example:
        >>> ChangeLoss().words
        'use the loss that fits the task'
    """

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        loss = new_loss(recipe.setup, recipe.targets)
        if loss is None:
            return None
        outputs = width(recipe.setup, recipe.targets)
        if loss.meaning == "values" and not _match(recipe):
            return None
        if outputs is not None and outputs > MOST_CLASSES:
            return None
        changed = recipe.but(f"loss = {loss}", loss=loss)
        if outputs is not None:
            model = resize_output(changed.model, recipe.example, outputs, seed=0)
            line = f"model = sickbay.surgery.resize_output(model, (x,), {outputs}, seed=0)"
            changed = changed.with_model(model, line)
        if output_activation(changed.model, recipe.example) != "linear":
            model = replace_output(changed.model, recipe.example, "linear")
            line = "model = sickbay.surgery.replace_output(model, (x,), 'linear')"
            changed = changed.with_model(model, line)
        return changed


def _match(recipe: Recipe) -> bool:
    """Return whether there is a target for each output, as far as their shapes are known."""
    shapes = recipe.setup.output_shape, recipe.setup.target_shape
    return not all(shapes) or prod(shapes[0]) == prod(shapes[1])
