from sickbay.model_copies import run
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold
from sickbay.remedies.fit_loss_to_task import Fitted
from sickbay.remedies.scaled_loss import ScaledLoss, as_code, is_distance
from sickbay.remedies.target_scale import is_far, target_scale
from sickbay.surgery import output_activation, replace_output, scale_outputs

LINEAR = "model = sickbay.surgery.replace_output(model, (x,), 'linear')"


@dataclass(frozen=True, kw_only=True)
class ScaleTargets(Remedy):
    """Standardise the targets in the loss, and scale the outputs in the model.

    Why it helps:
        Initial weights and learning rates are made for targets with mean 0 and deviation 1. The
        predictions of the changed model are in the units of the targets, as before.

    Example:
        >>> ScaleTargets().code.splitlines()[1]
        'loss = sickbay.remedies.ScaledLoss(loss, y.mean(0), y.std(0))'
    """

    specific = True
    code = (
        "model = sickbay.surgery.scale_outputs(model, (x,), y.mean(0), y.std(0))\n"
        "loss = sickbay.remedies.ScaledLoss(loss, y.mean(0), y.std(0))"
    )

    factor: float = threshold(
        5.0, "A mean or deviation this many times too large, or a deviation too small.", above=1
    )

    def applies(self, recipe: Recipe) -> bool:
        if recipe.targets is None or isinstance(recipe.loss, ScaledLoss):
            return False
        return recipe.setup.task in ("regression", "") and is_far(recipe.targets, self.factor)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.targets is None or not self.applies(recipe):
            return None
        changed, example = recipe, recipe.example
        if output_activation(recipe.model, example) != "linear":
            changed = recipe.with_model(replace_output(recipe.model, example, "linear"), LINEAR)
        outputs = run(changed.model, example, training=False)
        loss = recipe.loss.loss if isinstance(recipe.loss, Fitted) else recipe.loss
        if not is_distance(loss, outputs, recipe.targets):
            return None
        columns = outputs.ndim == 2 and outputs.shape[1:] == recipe.targets.shape[1:]
        mean, std = target_scale(recipe.targets, columns=columns)
        numbers = f"{as_code(mean)}, {as_code(std)}"
        line = f"model = sickbay.surgery.scale_outputs(model, (x,), {numbers})"
        changed = changed.with_model(scale_outputs(changed.model, example, mean, std), line)
        scaled = ScaledLoss(loss, mean, std)
        return changed.but(f"loss = {scaled}", loss=scaled)
