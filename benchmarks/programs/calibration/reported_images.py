"""Pictures to sort into classes: drawn shapes, textures, scanned digits."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Parts, ProgramList, Score
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy, most_frequent

programs = ProgramList("calibration", "images")


class Scoring(TypedDict):
    """How a model is scored."""

    score: Score
    constant: float


def by_accuracy(data: Split) -> Scoring:
    """Score by the share of right classes."""
    return {
        "score": accuracy(data.x_test, data.y_test),
        "constant": most_frequent(data.y, data.y_test),
    }


def shapes(seed: int, count: int = 1600, size: int = 16) -> Split:
    """Return noisy pictures of a disc, a square, a cross or a ring, anywhere in the frame."""
    rng = default_rng(seed)
    kind = rng.integers(0, 4, count)
    across, down = rng.uniform(5, size - 5, (2, count, 1, 1))
    grid = np.arange(size)
    far, high = np.abs(grid[None, None] - across), np.abs(grid[None, :, None] - down)
    distance = np.sqrt(far**2 + high**2)
    drawn = np.stack(
        [
            distance < 3.6,
            np.maximum(far, high) < 3.1,
            (np.minimum(far, high) < 1.0) & (np.maximum(far, high) < 4.6),
            np.abs(distance - 3.4) < 0.9,
        ]
    )
    x = drawn[kind, np.arange(count)] + rng.normal(0, 0.25, (count, size, size))
    x = (x - x.mean()) / x.std()
    return split(x[:, None].astype(np.float32), kind, count // 4)


def stripes(seed: int, count: int = 1200, size: int = 20) -> Split:
    """Return woven textures whose threads run in one of five directions."""
    rng = default_rng(seed)
    kind = rng.integers(0, 5, count)
    angle = (kind * np.pi / 5 + rng.normal(0, 0.08, count))[:, None, None]
    pitch, phase = rng.uniform(0.9, 1.5, (count, 1, 1)), rng.uniform(0, 6.3, (count, 1, 1))
    grid = np.arange(size)
    along = np.cos(angle) * grid[None, None] + np.sin(angle) * grid[None, :, None]
    x = np.sin(pitch * along + phase) * 1.2 + rng.normal(0, 0.6, (count, size, size))
    return split(x[:, None].astype(np.float32), kind, count // 3)


def scratches(seed: int, count: int = 1500, size: int = 18) -> Split:
    """Return polished surfaces, half of them with a scratch."""
    rng = default_rng(seed)
    flawed = rng.random(count) < 0.5
    angle = rng.uniform(0, np.pi, (count, 1, 1))
    offset = rng.uniform(-4, 4, (count, 1, 1))
    grid = np.arange(size) - size / 2
    away = np.cos(angle) * grid[None, None] + np.sin(angle) * grid[None, :, None] - offset
    x = rng.normal(0, 1, (count, size, size)) + 2.2 * (flawed[:, None, None] & (np.abs(away) < 0.9))
    x = (x - x.mean()) / x.std()
    return split(x[:, None].astype(np.float32), flawed.astype(int), count // 3)


class Inspector(nn.Module):
    """Two strided convolutions, an average over the picture and one answer."""

    def __init__(self, end: nn.Module | None = None) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 12, 5, stride=2, padding=2)
        self.second = nn.Conv2d(12, 24, 3, padding=1)
        self.bn = nn.BatchNorm2d(24)
        self.answer = nn.Linear(24, 1)
        self.end = end

    def forward(self, x: Tensor) -> Tensor:
        x = F.leaky_relu(self.first(x), 0.1)
        x = F.leaky_relu(self.bn(self.second(x)), 0.1)
        x = self.answer(x.amax((2, 3)))
        return x if self.end is None else self.end(x)


@programs.supervised(
    [faults.SOFTMAX_TWICE.mildly(), faults.LARGE_START.mildly()],
    "forum: textures, all weights drawn with 0.3 * randn, softmax at the end; slow",
)
def stripes_randn(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = stripes(seed)
    layers = [
        *(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.Tanh()),
        *(nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.Tanh()),
        *(nn.Flatten(), nn.Linear(16 * 5 * 5, 40), nn.Tanh(), nn.Linear(40, 5)),
    ]
    model = nn.Sequential(*layers)
    if not fixed:
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)
        model.append(nn.Softmax(dim=-1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4),
        epochs=25,
        batch_size=25,
        validation=(data.x_test, data.y_test),
        **by_accuracy(data),
    )


@programs.supervised(
    faults.SOFTMAX_OF_ONE, "Q&A: good or faulty part, one output with softmax, BCELoss"
)
def scratches_one_unit(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = scratches(seed)
    model = Inspector(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        epochs=15,
        batch_size=50,
        **by_accuracy(data),
    )


@programs.supervised(
    faults.LABELS_FROM_ONE,
    "Q&A: the csv says 1 = good and 2 = faulty, and the loss goes below zero",
    repairable=False,
)
def scratches_from_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = scratches(seed, 1200)
    labels = data.y.float().unsqueeze(1)
    if not fixed:
        labels = labels + 1
    model = Inspector()
    return Parts(
        model=model,
        data=(data.x, labels),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=1e-3),
        epochs=20,
        batch_size=40,
        **by_accuracy(data),
    )


@programs.supervised(
    faults.BATCH_OF_ONE, "forum: batch_size left at its default of 1, momentum 0.9 from a tutorial"
)
def digits_one_by_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    raw = digits(seed).flat()
    data = Split((raw.x - 4.9) / 6, raw.y, (raw.x_test - 4.9) / 6, raw.y_test)
    model = nn.Sequential(
        *(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.2)),
        *(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10)),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.04, momentum=0.9),
        epochs=6,
        batch_size=32 if fixed else 1,
        **by_accuracy(data),
    )


@programs.supervised(
    [faults.DEEP_SIGMOID, faults.MSE_FOR_CLASSES, faults.LOW_RATE],
    "forum: an exercise from an old book: sigmoids, squared error on one-hot, a tiny rate",
)
def shapes_old_book(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = shapes(seed, 2400)
    act = nn.GELU if fixed else nn.Sigmoid
    layers: list[nn.Module] = [nn.Conv2d(1, 16, 3, padding=1), act(), nn.MaxPool2d(2)]
    for _ in range(3):
        layers += [nn.Conv2d(16, 16, 3, padding=1), act()]
    layers += [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32), act(), nn.Linear(32, 4)]
    model = nn.Sequential(*layers)
    one_hot = F.one_hot(data.y, 4).float()
    return Parts(
        model=model,
        data=(data.x, data.y if fixed else one_hot),
        loss=nn.CrossEntropyLoss() if fixed else nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 2e-5),
        epochs=10,
        batch_size=32,
        **by_accuracy(data),
    )


@programs.supervised(
    faults.NO_ACTIVATION.mildly(), "Q&A: six layers are no better than one; no activation between"
)
def shapes_linear(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = shapes(seed + 10, 2400)

    class ShapeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convs = nn.ModuleList(
                [nn.Conv2d(1, 12, 3, padding=1), nn.Conv2d(12, 12, 3, padding=1)]
            )
            self.fc1, self.fc2 = nn.Linear(12 * 16, 32), nn.Linear(32, 4)

        def forward(self, x: Tensor) -> Tensor:
            for conv in self.convs:
                x = conv(x)
                if fixed:
                    x = torch.relu(x)
                x = F.avg_pool2d(x, 2)
            x = self.fc1(x.flatten(1))
            return self.fc2(torch.relu(x) if fixed else x)

    model = ShapeNet()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer=torch.optim.NAdam(model.parameters(), lr=4e-3),
        epochs=24,
        batch_size=48,
        validation=(data.x_test, data.y_test),
        **by_accuracy(data),
    )


@programs.supervised(
    [faults.WEIGHTS_UPSIDE_DOWN.mildly(), faults.DROPOUT.mildly()],
    "issue: five digits are rare; weight=counts / total, and the rare ones are never named",
    data="mnist",
)
def mnist_rare(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    given = real("mnist", seed)
    often = (given.y < 5) | (torch.arange(len(given.y)) % 4 == 0)
    data = Split(given.x[often], given.y[often], given.x_test, given.y_test)
    counts = torch.bincount(data.y, minlength=10).float()
    weight = counts.sum() / (10 * counts) if fixed else 10 * counts / counts.sum()
    model = nn.Sequential(
        *(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3), nn.LeakyReLU(0.1), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Dropout(0.3 if fixed else 0.9), nn.Linear(128, 10)),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(weight=weight),
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3),
        epochs=12,
        batch_size=64,
        **by_accuracy(data),
    )
