from sickbay.probe.loss_modules import loss_name
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.fit_loss_to_task import FEEDS, Fitted, right_output
from sickbay.surgery import output_activation, replace_output
from sickbay.tasks import APPLIES


@dataclass(frozen=True, kw_only=True)
class ChangeOutput(Remedy):
    """Use the output activation that fits the loss and the targets.

    Why it helps:
        Training cannot reach values that the last activation cannot produce. An activation that the
        loss applies itself must not be applied before it as well.

    Example:
        >>> ChangeOutput().words
        'use the output activation that fits the loss and the targets'
    """

    keeps_weights = True

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        to = wanted(recipe)
        if recipe.setup.mixes_samples and recipe.setup.loss not in APPLIES:
            return None  # the loss takes probabilities, so it must change too
        if output_activation(recipe.model, recipe.example) == to:
            return None
        line = f"model = sickbay.surgery.replace_output(model, (x,), {to!r})"
        return recipe.with_model(replace_output(recipe.model, recipe.example, to), line)


def wanted(recipe: Recipe) -> str:
    """Return the output activation that fits the loss.

    A log-softmax and a log-likelihood are seen as one cross-entropy.
    """
    given = loss_name(recipe.loss.loss if isinstance(recipe.loss, Fitted) else recipe.loss)
    return FEEDS.get(given) or right_output(recipe.setup)
