"""Numbers read from pictures: positions and angles."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "images")


def dials(seed: int, count: int = 1800, size: int = 14) -> Split:
    """Return pictures of a gauge in grey levels from 0 to 255, and the pressure in kPa."""
    rng = default_rng(seed)
    share = rng.random(count)
    angle = (np.pi * (1.2 - 1.4 * share))[:, None, None]
    grid = np.arange(size) - (size - 1) / 2
    across, up = grid[None, None], -grid[None, :, None]
    along = np.cos(angle) * across + np.sin(angle) * up
    aside = np.cos(angle) * up - np.sin(angle) * across
    needle = np.exp(-(aside**2)) * (along > -0.5) * (along < 6.5)
    x = (40 + 180 * needle + rng.normal(0, 12, (count, size, size))).clip(0, 255)
    return split(x[:, None].astype(np.float32), (600 * share).astype(np.float32), count // 3)


def leaves(seed: int, count: int = 2000, size: int = 12) -> Split:
    """Return silhouettes of leaves, and how far each leans, in standard deviations."""
    rng = default_rng(seed)
    lean = rng.uniform(-1.1, 1.1, count)
    long, wide = rng.uniform(4.5, 6, (count, 1, 1)), rng.uniform(1.6, 2.4, (count, 1, 1))
    grid = np.arange(size) - (size - 1) / 2
    turn = lean[:, None, None]
    along = np.cos(turn) * grid[None, :, None] + np.sin(turn) * grid[None, None]
    aside = np.cos(turn) * grid[None, None] - np.sin(turn) * grid[None, :, None]
    x = ((along / long) ** 2 + (aside / wide) ** 2 < 1) + rng.normal(0, 0.15, (count, size, size))
    x, y = (x - x.mean()) / x.std(), lean / lean.std()
    return split(x[:, None].astype(np.float32), y[:, None].astype(np.float32), count // 4)


class DialReader(nn.Module):
    """Reads one number from a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(10, 20, 3, padding=1)
        self.hidden = nn.Linear(20 * 9, 40)
        self.value = nn.Linear(40, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.value(F.relu(self.hidden(x.flatten(1))))


@programs.supervised(
    [faults.RAW_INPUTS, faults.RAW_TARGETS, faults.BROADCAST],
    "issue: grey levels in, kPa out, targets of shape (N,); it always reads the mean",
)
def dial_in_kpa(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = dials(seed)
    x, y, x_test, y_test = data.x, data.y, data.x_test, data.y_test
    if fixed:
        mean, spread = x.mean(), x.std()
        x, x_test = (x - mean) / spread, (x_test - mean) / spread
        y_test = (y_test - y.mean()) / y.std()
        y = ((y - y.mean()) / y.std()).unsqueeze(1)
    model = DialReader()
    return Parts(
        model=model,
        data=(x, y),
        loss=lambda output, target: ((output - target) ** 2).mean(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(x_test, y_test),
        constant=0.0,
        epochs=15,
        batch_size=30,
    )


@programs.supervised(
    [faults.RELU_OUTPUT.mildly(), faults.FEW_EPOCHS.mildly()],
    "forum: every leaf that leans to the left gets 0; stopped after one epoch",
)
def leaves_left(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = leaves(seed)
    model = nn.Sequential(
        *(nn.Conv2d(1, 8, 3), nn.ELU(), nn.Conv2d(8, 8, 3), nn.ELU(), nn.AvgPool2d(2)),
        *(nn.Flatten(), nn.Linear(8 * 16, 24), nn.ELU(), nn.Linear(24, 1)),
    )
    nn.init.constant_(model[-1].bias, 0.5)  # type: ignore[arg-type]
    if not fixed:
        model.append(nn.ReLU())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25 if fixed else 1,
        batch_size=50,
    )
