"""A loss with the other sign."""

from torch import Tensor, nn

from sickbay.recipe import Loss
from sickbay.remedies.loss_code import loss_code


class NegatedLoss(nn.Module):
    """A loss that falls where another one rises.

    >>> import torch
    >>> NegatedLoss(nn.L1Loss())(torch.zeros(4, 1), torch.ones(4, 1)).item()
    -1.0
    """

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.loss = loss

    def __repr__(self) -> str:
        return f"sickbay.remedies.NegatedLoss({loss_code(self.loss)})"

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -self.loss(outputs, targets)
