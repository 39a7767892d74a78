from dataclasses import dataclass

from sickbay.checkups.base import Statement
from sickbay.checkups.case import Case
from sickbay.checkups.report import Result


@dataclass(frozen=True, kw_only=True)
class RunsOnTheBatch(Statement):
    """The model runs forward and backward on the batch.

    Why it matters:
        Nothing else can be said of a model that does not.

    How it is tested:
        One forward pass in training, the loss if there are targets, and backward. The loss must be
        finite.
    """

    remedy = "look at shapes on the way, at the largest token and label, and at the targets' shape"

    def examine(self, case: Case) -> Result:
        first = case.first
        loss = first.loss.item()
        shape = tuple(first.output.shape)
        if not first.output.isfinite().all():
            return self.fails(f"the output of shape {shape} holds NaN or Inf")
        if not first.loss.isfinite():
            return self.fails(f"the loss is {loss:g}", loss=loss)
        return self.holds(f"the output has shape {shape}, the loss is {loss:.3g}", loss=loss)
