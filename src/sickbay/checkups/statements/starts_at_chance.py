from dataclasses import dataclass
from math import isfinite
from typing import Any

from torch import nn

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.loss_levels import DISTANCES, levels
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class StartsAtChance(Statement):
    """Before training the loss is about what chance gives.

    Why it matters:
        A model that starts far above it must first unlearn, one far below it sees the answers.

    How it is tested:
        The loss in training is at most `above` times that of answers that know nothing, which the
        loss itself is asked for: ln C for C classes, ln 2 for yes or no. With an embedding that is
        also the last layer it is `tied` times. Of classes it must also be at least `below` times
        it. Numbers may have any scale: there it is `far` times that of answers off by their size.
    """

    severity = "warning"
    remedy = "make the weights of the last layer smaller, and look what the model is given to see"

    above: float = threshold(5.0, "Times chance that is too much.", above=1)
    tied: float = threshold(40.0, "The same where the last layer is also an embedding.", above=1)
    far: float = threshold(1e3, "The same for distances of numbers.", above=1)
    below: float = threshold(0.05, "Share of chance that is too little, for classes.", least=0)

    def examine(self, case: Case) -> Result:
        seen = case.seen
        loss, kind = seen.loss.item(), seen.origin.loss
        known = levels(case, case.batch, seen.output)
        if not isfinite(loss) or known.best >= known.chance:
            raise Inapplicable("the loss is not finite, or lowest by chance")
        ratio = (loss - known.best) / (known.chance - known.best)
        numbers: dict[str, Any] = {"loss": loss, "chance": known.chance}
        said = f"the loss is {loss:.3g}, chance gives {known.chance:.3g}"
        limit = self.far if kind in DISTANCES else self.tied if _tied(case.model) else self.above
        if ratio > limit:
            return self.fails(f"{said} (limit {limit:g} times that)", **numbers)
        if kind not in DISTANCES and ratio < self.below:
            why = "does the model see the targets, or is it trained already?"
            return self.fails(f"{said} (limit {self.below:g} times that): {why}", **numbers)
        return self.holds(said, **numbers)


def _tied(model: nn.Module) -> bool:
    """Tell whether the weight of an embedding is used by another layer too."""
    looked_up = {id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)}
    others = [each for each in model.modules() if not isinstance(each, nn.Embedding)]
    return any(id(own) in looked_up for each in others for own in each.parameters(recurse=False))
