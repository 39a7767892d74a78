from sickbay.problems.published.autotrainer.improper_output import fitting_outputs
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.surgery import output_activation, replace_output


@dataclass(frozen=True, kw_only=True)
class FitOutputToTask(Remedy):
    """Use the output activation that AutoTrainer recommends for the task.

    Why it helps:
        Outputs mean what the task asks for: shares of classes, answers or numbers.

    Example:
        >>> FitOutputToTask().words
        'use the output activation that AutoTrainer recommends for the task'
    """

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        fitting = fitting_outputs(recipe.setup)
        if not fitting or output_activation(recipe.model, recipe.example) in fitting:
            return None
        line = f"model = sickbay.surgery.replace_output(model, (x,), {fitting[0]!r})"
        return recipe.with_model(replace_output(recipe.model, recipe.example, fitting[0]), line)
