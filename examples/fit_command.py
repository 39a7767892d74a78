"""Train and repair from the command line, with the settings in a file and in options.

cd examples
sickbay fit fit_command:make --config fit_command.json --epochs 30
"""

from typing import Any

import torch
from torch import nn


def make() -> dict[str, Any]:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    points = torch.rand(1200, 2) * 2 - 1
    labels = (points.norm(dim=1) < 0.8).long()  # inside a circle, or not

    layers = [part for _ in range(9) for part in (nn.Linear(32, 32), nn.Sigmoid())]
    model = nn.Sequential(nn.Linear(2, 32), nn.Sigmoid(), *layers, nn.Linear(32, 2))
    return {
        "model": model,
        "data": (points[:1000], labels[:1000]),
        "validation": (points[1000:], labels[1000:]),
        "loss": nn.CrossEntropyLoss(),
        "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3),
    }
