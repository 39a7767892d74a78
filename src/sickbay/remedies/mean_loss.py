"""The mean of a loss that sums over the samples of a batch."""

import torch
from torch import Tensor, nn

from sickbay.loss_probe import harmless
from sickbay.recipe import Loss
from sickbay.remedies.loss_code import loss_code


class MeanLoss(nn.Module):
    """A loss that is divided by the number of samples.

    >>> loss = MeanLoss(nn.L1Loss(reduction="sum"))
    >>> loss(torch.zeros(4, 1), torch.ones(4, 1)).item()
    1.0
    """

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.loss = loss

    def __repr__(self) -> str:
        return f"sickbay.remedies.MeanLoss({loss_code(self.loss)})"

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.loss(outputs, targets) / len(targets)


def sums(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss is twice as large if every sample is there twice.

    >>> one, other = torch.zeros(4, 1), torch.ones(4, 1)
    >>> sums(nn.MSELoss(reduction="sum"), one, other), sums(nn.MSELoss(), one, other)
    (True, False)
    """
    try:
        with torch.no_grad():
            loss = harmless(loss)
            once = float(loss(outputs, targets))
            twice = float(loss(torch.cat([outputs] * 2), torch.cat([targets] * 2)))
    except Exception:  # it does not take these, or returns no number
        return False
    return once != 0 and abs(twice - 2 * once) <= 1e-3 * abs(once)
