from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import output_activation, replace_output, scale_outputs
from sickbay.tasks import APPLIES

SMALL = 0.2  # factors that make outputs tiny


@dataclass(frozen=True, kw_only=True)
class UndoOutputScale(Remedy):
    """Undo a constant factor that makes the outputs tiny, such as that of a temperature.

    Why it helps:
        The gradient of every weight is as small as the factor, and the outputs cannot become
        certain.

    Example:
        >>> UndoOutputScale().code
        'model = sickbay.surgery.scale_outputs(model, (x,), 0.0, temperature)'
    """

    specific = True
    code = "model = sickbay.surgery.scale_outputs(model, (x,), 0.0, temperature)"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        factor = finding.evidence.get("scale", recipe.setup.scale)
        if not 0 < factor < SMALL:
            return None
        example, activation = recipe.example, output_activation(recipe.model, recipe.example)
        changed = recipe
        if activation != "linear":
            changed = _with_output(changed, "linear")
        line = f"model = sickbay.surgery.scale_outputs(model, (x,), 0.0, {1 / factor:.6g})"
        changed = changed.with_model(scale_outputs(changed.model, example, 0.0, 1 / factor), line)
        # A log-softmax does no harm before a cross-entropy, and a log-likelihood needs it.
        doubled = recipe.setup.loss in APPLIES and activation != "log_softmax"
        return changed if activation == "linear" or doubled else _with_output(changed, activation)


def _with_output(recipe: Recipe, to: str) -> Recipe:
    line = f"model = sickbay.surgery.replace_output(model, (x,), {to!r})"
    return recipe.with_model(replace_output(recipe.model, recipe.example, to), line)
