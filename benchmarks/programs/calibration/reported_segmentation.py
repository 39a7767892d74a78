"""Masks of pictures, pixel by pixel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "images")


def cells(seed: int, count: int = 420, size: int = 16) -> Split:
    """Return stained cells, and for each pixel: 0 outside, 1 in the cell, 2 in its nucleus."""
    rng = default_rng(seed)
    mask = np.zeros((count, size, size), np.int64)
    grid = np.arange(size)
    for _cell in range(2):
        across, down = rng.uniform(3, size - 3, (2, count, 1, 1))
        radius = rng.uniform(3.0, 4.2, (count, 1, 1))
        distance = np.hypot(grid[None, None] - across, grid[None, :, None] - down)
        mask = np.maximum(mask, np.where(distance < radius / 2, 2, distance < radius))
    x = np.array([0.0, 1.0, -0.8])[mask] + rng.normal(0, 0.45, mask.shape)
    x = (x - x.mean()) / x.std()
    return split(x[:, None].astype(np.float32), mask, count // 4)


def overlap(inputs: Tensor, mask: Tensor) -> Score:
    """Return the intersection over union, by class where there are several."""

    def score(model: nn.Module) -> float:
        output = predict(model, inputs)
        if output.shape[1] == 1:
            middle = 0.5 if bool(((output >= 0) & (output <= 1)).all()) else 0.0
            guess, numbers = (output[:, 0] > middle).long(), [1]
        else:
            guess, numbers = output.argmax(1), list(range(output.shape[1]))
        shares = []
        for number in numbers:
            both = ((guess == number) & (mask == number)).sum()
            shares.append(float(both / ((guess == number) | (mask == number)).sum()))
        return sum(shares) / len(shares)

    return score


class SmallUNet(nn.Module):
    """One step down, one step up, and a skip connection."""

    def __init__(self, classes: int, width: int = 12) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, padding=1)
        self.deep = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.norm = nn.GroupNorm(4, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.merge = nn.Conv2d(2 * width, width, 3, padding=1)
        self.mask = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = F.leaky_relu(self.down(x))
        x = F.leaky_relu(self.norm(self.deep(F.max_pool2d(skip, 2))))
        x = torch.cat([skip, self.up(x)], 1)
        return self.mask(F.leaky_relu(self.merge(x)))


@programs.supervised(
    faults.CLASSES_ELSEWHERE,
    "Q&A: logits of (N, 3, H, W) flattened with view(-1, 3) for cross entropy; stripes everywhere",
)
def cells_view(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = cells(seed)

    def criterion(output: Tensor, mask: Tensor) -> Tensor:
        rows = output.permute(0, 2, 3, 1).reshape(-1, 3) if fixed else output.reshape(-1, 3)
        return F.cross_entropy(rows, mask.reshape(-1))

    model = SmallUNet(3)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=criterion,
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=overlap(data.x_test, data.y_test),
        constant=float((data.y_test == 0).double().mean()) / 3,
        epochs=25,
        batch_size=15,
    )


@programs.script(
    faults.ARGMAX, "issue: Dice loss on the thresholded mask, which has no gradient of use"
)
def cells_rounded(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = cells(seed + 7)
    data = replace(data, y=(data.y > 0).long(), y_test=(data.y_test > 0).long())
    model = SmallUNet(1, width=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(20):
        for rows in torch.randperm(len(data.x)).split(21):
            wanted = data.y[rows].float()
            share = torch.sigmoid(model(data.x[rows])[:, 0])
            if not fixed:
                share = (share > 0.5).float().requires_grad_()
            both = (share * wanted).sum((1, 2))
            total = share.sum((1, 2)) + wanted.sum((1, 2))
            loss = 1 - ((2 * both + 1) / (total + 1)).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_iou=overlap(data.x_test, data.y_test)(model))
    return overlap(data.x_test, data.y_test)(model)
