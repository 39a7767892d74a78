import torch

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.wording import raised


@dataclass(frozen=True, kw_only=True)
class RunsOnTheBatch(Statement):
    """The model runs forward and backward on the batch.

    Why it matters:
        A model that does not run cannot be tested any further.

    How it is tested:
        One forward pass in training mode, the loss if there are targets, and a backward pass. The
        output and the loss must be finite. Then one forward pass in evaluation mode.
    """

    order = 1
    remedy = "check the shapes along the way, the largest token and label, and the targets' shape"

    def examine(self, setup: ModelSetup) -> Result:
        first = setup.first_pass_or_error
        if isinstance(first, Inapplicable | MemoryError | torch.cuda.OutOfMemoryError):
            raise first
        if isinstance(first, Exception):
            return self.fails(raised(first))
        if error := _error_in_evaluation(setup):
            return self.fails(f"in evaluation mode {raised(error)}")
        loss = first.loss.item()
        if first.main is None:
            if not first.loss.isfinite():
                return self.fails(f"the loss is {loss:g}", loss=loss)
            return self.holds(f"the model returns its loss, {loss:.3g}", loss=loss)
        shape = tuple(first.output.shape)
        if not first.output.isfinite().all():
            return self.fails(f"the output of shape {shape} contains NaN or Inf")
        if not first.has_loss:
            return self.holds(f"the output has shape {shape}")
        if not first.loss.isfinite():
            return self.fails(f"the loss is {loss:g}", loss=loss)
        return self.holds(f"the output has shape {shape}, the loss is {loss:.3g}", loss=loss)


def _error_in_evaluation(setup: ModelSetup) -> Exception | None:
    """Return what the model raises in evaluation mode, None if it runs."""
    try:
        with setup.model_copy() as model, torch.no_grad():
            setup.run(model, setup.batch)
    except (Inapplicable, MemoryError, torch.cuda.OutOfMemoryError):
        return None
    except Exception as error:
        return error
    return None
