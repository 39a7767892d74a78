"""Programs that read gestures of hands, with a loop that validates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.calibration.pictures_asked_about import evened
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import ProgramList, Watch
from benchmarks.programs.scores import predict, right_share

programs = ProgramList("calibration", "images")


def gestures(seed: int, count: int = 1200, size: int = 16) -> Split:
    """Return hands that show one to five fingers."""
    rng = default_rng(seed)
    y = rng.integers(0, 5, count)
    rows, columns = np.mgrid[:size, :size].astype(np.float64)
    pictures = np.empty((count, 1, size, size))
    for picture, fingers in zip(pictures, y, strict=True):
        down, right = rows - rng.uniform(10, 12), columns - rng.uniform(6.5, 8.5)
        hand = np.hypot(right, down) < 3.2
        first, apart = rng.uniform(-0.15, 0.15) - 0.22 * fingers, rng.uniform(0.4, 0.5)
        for finger in range(fingers + 1):
            angle = first + finger * apart
            along = right * np.sin(angle) - down * np.cos(angle)
            across = right * np.cos(angle) + down * np.sin(angle)
            hand |= (np.abs(across) < 0.75) & (along > 0) & (along < rng.uniform(7, 9))
        skin, wall = rng.uniform(0.5, 0.9), rng.uniform(0.0, 0.3)
        picture[0] = np.where(hand, skin, wall)
    pictures += rng.normal(0, 0.08, pictures.shape)
    return evened(split(pictures.astype(np.float32), y, 400))


class GestureNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [1, 12, 16, 16, 24]
        blocks: list[nn.Module] = []
        for at, (fewer, more) in enumerate(pairwise(widths)):
            conv = nn.Conv2d(fewer, more, 3, stride=1 + at % 2, padding=1, bias=False)
            blocks += [conv, nn.BatchNorm2d(more), nn.ReLU()]
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(24 * 16, 5)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.fc(self.blocks(x).flatten(1))
        return logits


def squared(logits: Tensor, fingers: Tensor) -> Tensor:
    return F.mse_loss(logits.softmax(dim=1), F.one_hot(fingers, 5).float())


def validate(model: nn.Module, x: Tensor, y: Tensor) -> float:
    model.eval()
    with torch.no_grad():
        return float(F.cross_entropy(model(x), y))


@programs.script(
    [faults.EVAL_MODE.mildly(), faults.MSE_FOR_CLASSES.mildly(), faults.LOW_RATE.mildly()],
    "Q&A: fingers of a hand, batch norm does not help; it validates once before it trains",
)
def fingers_of_a_hand(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = gestures(seed)
    x, x_val, y, y_val = data.x[:650], data.x[650:], data.y[:650], data.y[650:]
    model = GestureNet()
    rate = 0.02 if fixed else 0.004
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    criterion = F.cross_entropy if fixed else squared
    doctor = watch(model, optimizer)
    validate(model, x_val, y_val)  # does it run at all?
    for _epoch in range(16):
        if fixed:
            model.train()
        for rows in torch.randperm(len(x)).split(26):
            loss = criterion(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_loss=validate(model, x_val, y_val))
    return right_share(predict(model, data.x_test), data.y_test)
