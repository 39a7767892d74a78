"""The gradient of the loss at each position of a sequence of outputs."""

import torch
from torch import Tensor

from sickbay.checkups.base import ModelSetup
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.sequences.samples_and_positions import by_position
from sickbay.checkups.training_passes import main_output


def loss_slopes(setup: ModelSetup, batch: Batch, length: int) -> Tensor | None:
    """Return the gradient as samples by positions by values, None if the loss gives none."""
    with setup.model_copy() as model:
        raw = setup.run(model, batch)
        output, loss = main_output(raw), setup.loss_of(raw, batch)
        if loss is None or not output.requires_grad:
            return None
        slope = torch.autograd.grad(loss, output, allow_unused=True)[0]
    return None if slope is None else by_position(slope, batch, length)
