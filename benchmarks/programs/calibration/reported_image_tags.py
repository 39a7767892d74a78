"""Pictures with several labels each."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import frequent_labels, labels_right

programs = ProgramList("calibration", "multi-label")


def trays(seed: int, count: int = 1500, size: int = 16) -> Split:
    """Return pictures of a tray seen from above, and which of six things lie on it.

    Each thing has a colour of its own, any place, and lies there in half of the pictures.
    """
    rng = default_rng(seed)
    y = rng.random((count, 6)) < 0.5
    colours = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2], [2, 2, 0], [0, 2, 2], [2, 0, 2]])
    x = rng.normal(0, 0.3, (count, 3, size, size))
    grid = np.arange(size)
    for thing in range(6):
        across, down = rng.uniform(2, size - 2, (2, count, 1, 1))
        near = (np.abs(grid[None, None] - across) < 1.6) & (
            np.abs(grid[None, :, None] - down) < 1.6
        )
        there = (near & y[:, thing, None, None])[:, None]
        x = np.where(there, colours[thing][None, :, None, None] + x * 0.3, x)
    x = (x - x.mean()) / x.std()
    return split(x.astype(np.float32), y.astype(np.float32), count // 3)


class TrayNet(nn.Module):
    """Looks for things everywhere and keeps the strongest sign of each."""

    def __init__(self, end: nn.Module | None = None, width: int = 24) -> None:
        super().__init__()
        self.look = nn.Conv2d(3, width, 3, padding=1)
        self.think = nn.Conv2d(width, width, 1)
        self.tags = nn.Linear(width, 6)
        self.end = end or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(self.look(x))
        x = F.gelu(self.think(x)).amax((2, 3))
        return self.end(self.tags(x))


@programs.supervised(
    [faults.SOFTMAX_FOR_TAGS, faults.ZERO_START],
    "Q&A: several things on a tray, softmax as for one; weights set to zero to be reproducible",
)
def tray_softmax(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = trays(seed)
    model = TrayNet(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    if not fixed:
        for parameter in model.parameters():
            nn.init.zeros_(parameter)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=20,
        batch_size=40,
    )


@programs.supervised(
    [faults.SUM, faults.SIGMOID_TWICE],
    "forum: BCEWithLogitsLoss(reduction='sum') after a sigmoid layer, SGD as before",
)
def tray_sum(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = trays(seed + 4)
    model = TrayNet(None if fixed else nn.Sigmoid(), width=32)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(reduction="mean" if fixed else "sum"),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=24,
        batch_size=25,
        validation=(data.x_test, data.y_test),
    )


def log_loss(output: Tensor, target: Tensor) -> Tensor:
    """Return the binary cross entropy of probabilities, safe at 0 and 1."""
    share = output.clamp(1e-6, 1 - 1e-6)
    return -(target * share.log() + (1 - target) * (1 - share).log()).mean()


@programs.supervised(
    faults.LOGITS_AS_PROBABILITIES.mildly(),
    "issue: a log loss of our own, clamped so that it is never NaN; the sigmoid was forgotten",
)
def tray_clamped(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = trays(seed + 8)
    model = TrayNet(nn.Sigmoid() if fixed else None, width=20)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=log_loss,
        optimizer=torch.optim.AdamW(model.parameters(), lr=6e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=18,
        batch_size=60,
    )
