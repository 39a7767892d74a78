from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.remedies.output_and_loss import right_output
from sickbay.surgery import output_activation, replace_output


@dataclass(frozen=True, kw_only=True)
class ChangeOutput(Remedy):
    """Use the output activation that loss and targets ask for.

    Why it helps:
        What the last activation cannot put out no training can reach; and where the loss applies
        it, it must not come twice.

    Safety:
        Retrain. The outputs get another meaning.

    Example:
        >>> ChangeOutput().words
        'use the output activation that loss and targets ask for'
    """

    keeps_weights = True

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        to = right_output(recipe.setup)
        if output_activation(recipe.model, recipe.example) == to:
            return None
        line = f"model = sickbay.surgery.replace_output(model, (x,), {to!r})"
        return recipe.with_model(replace_output(recipe.model, recipe.example, to), line)
