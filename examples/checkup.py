"""Check a network with three mistakes before its first training step.

python examples/checkup.py
sickbay checkup checkup:make        # the same on the command line, in this folder
"""

from typing import Any

import torch
from torch import Tensor, nn

import sickbay


class Classifier(nn.Module):
    """Applies a softmax that the loss applies again, and mixes the samples of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = (x - x.mean(0)) / x.std(0)
        probabilities: Tensor = self.head(self.body(x)).softmax(1)
        return probabilities


def make() -> dict[str, Any]:
    torch.manual_seed(0)
    model = Classifier()
    return {
        "model": model,
        "batch": (torch.randn(64, 20), torch.arange(64) % 5),
        "loss": nn.CrossEntropyLoss(),
        "optimizer": torch.optim.Adam(model.body.parameters(), lr=1e-3),
    }


if __name__ == "__main__":
    print(sickbay.checkup(**make()))
