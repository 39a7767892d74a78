from math import isfinite
from typing import Any

from torch import nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.statements.loss.loss_levels import levels
from sickbay.tasks import DISTANCES


@dataclass(frozen=True, kw_only=True)
class StartsAtChance(Statement):
    """Before training, the loss is close to the chance level.

    Why it matters:
        A model far above that level must first unlearn; one far below it can see the answers.

    How it is tested:
        The loss in training mode is at most `above` times the chance level: ln C for C classes, ln
        2 for yes or no. If the last layer is also the embedding, the limit is `tied` times that
        level. For classes, the loss is also at least `below` times that level. Regression targets
        may have any scale, so for them the limit is `far` times the loss of predictions that are
        wrong by the size of the targets.
    """

    order = 3
    severity = "warning"
    remedy = "make the last layer's weights smaller, and check that inputs do not hold the targets"

    above: float = threshold(5.0, "Limit for the loss, as a multiple of the chance level.", above=1)
    tied: float = threshold(40.0, "The same if the last layer is also an embedding.", above=1)
    far: float = threshold(1e3, "The same for regression.", above=1)
    below: float = threshold(
        0.05, "Lower limit for the loss, as a share of the chance level.", least=0
    )

    def examine(self, setup: ModelSetup) -> Result:
        first = setup.first_pass
        loss, is_distance = first.loss.item(), first.origin.loss in DISTANCES
        known = levels(setup, setup.batch, first.output)
        if not isfinite(loss) or known.best >= known.chance:
            raise Inapplicable("the loss is not finite, or no prediction beats chance")
        ratio = (loss - known.best) / (known.chance - known.best)
        numbers: dict[str, Any] = {"loss": loss, "chance": known.chance}
        message = f"the loss is {loss:.3g}, the chance level {known.chance:.3g}"
        limit = self.far if is_distance else self.tied if _is_tied(setup.model) else self.above
        if ratio > limit:
            return self.fails(f"{message} (limit {limit:g} times that)", **numbers)
        if not is_distance and ratio < self.below:
            question = "does the model see the targets, or is it already trained?"
            message = f"{message} (limit {self.below:g} times that): {question}"
            return self.fails(message, **numbers)
        return self.holds(message, **numbers)


def _is_tied(model: nn.Module) -> bool:
    """Return whether another layer shares the weight of an embedding."""
    embeddings = {id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)}
    others = [each for each in model.modules() if not isinstance(each, nn.Embedding)]
    return any(id(own) in embeddings for each in others for own in each.parameters(recurse=False))
