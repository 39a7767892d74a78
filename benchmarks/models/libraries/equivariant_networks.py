"""Networks of egnn-pytorch for points in space, as in its README."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("egnn-pytorch", "egnn_pytorch")


@library.architecture
def network() -> Inputs:
    from egnn_pytorch import EGNN_Network

    class Energy(nn.Module):
        """Predicts one number for each molecule."""

        def __init__(self) -> None:
            super().__init__()
            self.net = EGNN_Network(num_tokens=10, dim=16, depth=2, num_nearest_neighbors=3)
            self.last = nn.Linear(16, 1)

        def forward(self, atoms: Tensor, places: Tensor, mask: Tensor) -> Tensor:
            features, _ = self.net(atoms, places, mask=mask)
            shown = features * mask[..., None]
            energy: Tensor = self.last(shown.sum(1) / mask.sum(1, keepdim=True))
            return energy.squeeze(-1)

    atoms, places = torch.randint(10, (8, 8)), torch.randn(8, 8, 3)
    mask = torch.arange(8) < torch.randint(5, 9, (8, 1))
    energy = torch.where(mask, atoms, 0).float().mean(1) - 3
    return Inputs(Energy(), (atoms, places, mask, energy), nn.MSELoss())
