"""Pictures that people sent along: tomatoes, road signs, doorplates, galaxies and X-rays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, most_frequent

programs = ProgramList("calibration", "images")


def rated(data: Split) -> dict[str, Any]:
    """Return the score of a classifier, and that of a constant answer."""
    return {
        "score": accuracy(data.x_test, data.y_test),
        "constant": most_frequent(data.y, data.y_test),
    }


def normalised(data: Split) -> Split:
    """Return pictures with mean 0 and deviation 1 over all training pixels of a channel."""
    mean = data.x.mean((0, 2, 3), keepdim=True)
    spread = data.x.std((0, 2, 3), keepdim=True) + 1e-7
    return Split((data.x - mean) / spread, data.y, (data.x_test - mean) / spread, data.y_test)


def tomatoes(seed: int, count: int = 1200, size: int = 16) -> Split:
    """Return photos of green, turning and ripe tomatoes in changing light."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    row, column = np.mgrid[:size, :size]
    down, across = rng.uniform(6, 10, (2, count, 1, 1))
    radius = rng.uniform(3.5, 5.5, (count, 1, 1))
    inside = (np.hypot(row - down, column - across) < radius)[:, None]
    ripeness = np.clip(y / 2 + rng.normal(0, 0.1, count), 0, 1)
    red, green = 0.2 + 0.6 * ripeness, 0.7 - 0.5 * ripeness
    colour = np.stack([red, green, np.full(count, 0.15)], 1)[:, :, None, None]
    leaf = np.array([0.25, 0.45, 0.2])[None, :, None, None]
    photo = np.where(inside, colour, leaf) * rng.uniform(0.6, 1.2, (count, 1, 1, 1))
    photo = photo + rng.normal(0, 0.08, photo.shape)
    return split(photo.astype(np.float32), y, count // 4)


class TomatoNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 4, 48)
        self.fc2 = nn.Linear(48, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


@programs.supervised(
    faults.ZERO_START,
    "forum: loss stays at 1.0986; all parameters set to zero so that runs can be compared",
)
def ripe_tomatoes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = normalised(tomatoes(seed))
    model = TomatoNet()
    if not fixed:
        for parameter in model.parameters():
            nn.init.zeros_(parameter)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=12,
        batch_size=30,
        **rated(data),
    )


def signs(seed: int, count: int = 2400, size: int = 16) -> Split:
    """Return six shapes of road signs, filled or as a border, in snow."""
    rng = default_rng(seed)
    y = rng.integers(0, 6, count)
    row, column = np.mgrid[:size, :size]
    down, across = rng.uniform(6.5, 8.5, (2, count, 1, 1))
    reach = rng.uniform(4.5, 6.0, (count, 1, 1))
    v, h = (row - down) / reach, (column - across) / reach
    far = [
        np.hypot(v, h),
        np.maximum(np.abs(v), np.abs(h)) * 1.15,
        np.abs(v) + np.abs(h),
        np.maximum(v * 1.2, 2 * np.abs(h) - v - 0.6),
        np.maximum(-v * 1.2, 2 * np.abs(h) + v - 0.6),
        np.maximum(np.abs(v), np.abs(h)) + 4 * np.minimum(np.abs(v), np.abs(h)) ** 2,
    ]
    distance = np.choose(y[:, None, None], far)
    border = rng.random((count, 1, 1)) < 0.4
    shown = (distance < 1) & (~border | (distance > 0.55))
    picture = shown + rng.normal(0, 0.2, shown.shape)
    return split(picture[:, None].astype(np.float32), y, count // 4)


def sign_net(channels: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * channels * 16, hidden), nn.ReLU(), nn.Linear(hidden, 6),
    )  # fmt: skip


@programs.supervised(
    [faults.SMALL.mildly(), faults.FEW_EPOCHS.mildly()],
    "Q&A: signs for a toy; a net as tiny as the chip wants it, and two epochs",
)
def road_signs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = normalised(signs(seed))
    model = sign_net(10, 40) if fixed else sign_net(2, 5)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        epochs=15 if fixed else 2,
        batch_size=25,
        **rated(data),
    )


class Doorplate(nn.Module):
    """A net of the nineties: tanh, and probabilities at the end if so wished."""

    def __init__(self, drop: float, softmax: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3, padding=1)
        self.fc1 = nn.Linear(12 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 64)
        self.drop = nn.Dropout(drop)
        self.out = nn.Linear(64, 10)
        self.softmax = softmax

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(torch.tanh(self.conv(x)), 2).flatten(1)
        x = self.drop(torch.tanh(self.fc1(x)))
        x = self.drop(torch.tanh(self.fc2(x)))
        x = self.out(x)
        return F.softmax(x, dim=1) if self.softmax else x


@programs.supervised(
    [faults.LARGE_START.mildly(), faults.SOFTMAX_TWICE, faults.DROPOUT.mildly()],
    "Q&A: house numbers; normal_() for the weights, softmax in forward, and Dropout(0.85)",
)
def doorplates(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = normalised(digits(seed))
    drop = 0.1 if fixed else 0.85
    model = Doorplate(drop, softmax=not fixed)
    if not fixed:
        for layer in (model.fc1, model.fc2):
            nn.init.normal_(layer.weight, std=2.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        epochs=18,
        **rated(data),
    )


def galaxies(seed: int, count: int = 1200, size: int = 18) -> tuple[Tensor, Tensor]:
    """Return telescope pictures as bytes: round, edge-on or with two arms."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    row, column = np.mgrid[:size, :size] - (size - 1) / 2
    turn = rng.uniform(0, np.pi, (count, 1, 1))
    long = np.cos(turn) * row + np.sin(turn) * column
    short = np.cos(turn) * column - np.sin(turn) * row
    wide = rng.uniform(2.5, 3.5, (count, 1, 1))
    radius, angle = np.hypot(long, short), np.arctan2(short, long)
    ball = np.exp(-((radius / wide) ** 2))
    edge = np.exp(-((long / 5.5) ** 2) - (short / 1.1) ** 2)
    arms = np.exp(-((radius / 5.5) ** 2)) * (0.5 + 0.5 * np.cos(2 * angle - 0.7 * radius))
    light = np.choose(y[:, None, None], [ball, edge, arms]) * rng.uniform(90, 200, (count, 1, 1))
    light = light + rng.normal(20, 9, light.shape)
    pictures = torch.tensor(light.clip(0, 250).astype(np.uint8)).unsqueeze(1)
    return pictures, torch.tensor(y)


@programs.supervised(
    faults.CONSTANT_INPUTS,
    "forum: every galaxy is a spiral; pictures // 255 on bytes leaves nothing but zeros",
    repairable=False,
)
def galaxy_views(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    pictures, shape = galaxies(seed)
    scaled_down = (pictures / 255 if fixed else pictures // 255).float()
    data = normalised(Split(scaled_down[:900], shape[:900], scaled_down[900:], shape[900:]))
    model = nn.Sequential(
        nn.Conv2d(1, 12, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(12, 24, 3, padding=1),
        nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(24 * 9, 32), nn.ReLU(),
        nn.Linear(32, 3),
    )  # fmt: skip
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3),
        epochs=10,
        batch_size=30,
        **rated(data),
    )


def bones(seed: int, count: int = 1400, size: int = 16) -> Split:
    """Return X-rays of a bone that is whole or broken."""
    rng = default_rng(seed)
    broken = rng.integers(0, 2, count)
    row, column = np.mgrid[:size, :size] - (size - 1) / 2
    turn = rng.uniform(-0.5, 0.5, (count, 1, 1))
    along = np.cos(turn) * row + np.sin(turn) * column
    aside = np.cos(turn) * column - np.sin(turn) * row + rng.uniform(-2, 2, (count, 1, 1))
    bone = np.exp(-((aside / 2.0) ** 2))
    crack = np.exp(-(((along - rng.uniform(-4, 4, (count, 1, 1)) + 0.3 * aside) / 0.9) ** 2))
    ray = bone * (1 - 0.8 * crack * broken[:, None, None]) + rng.normal(0, 0.12, bone.shape)
    return split(ray[:, None].astype(np.float32), broken.astype(np.float32)[:, None], count // 4)


def rounded_loss(output: Tensor, broken: Tensor) -> Tensor:
    return F.binary_cross_entropy(torch.round(torch.sigmoid(output)), broken)


@programs.supervised(
    faults.ARGMAX,
    "Q&A: the loss is 50 and never moves; predictions rounded to 0 and 1 before the loss",
)
def hand_x_rays(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = normalised(bones(seed))
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 1),
    )  # fmt: skip
    broken = data.y_test[:, 0].long()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss() if fixed else rounded_loss,
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=accuracy(data.x_test, broken),
        constant=most_frequent(data.y[:, 0].long(), broken),
        epochs=10,
        batch_size=35,
    )
