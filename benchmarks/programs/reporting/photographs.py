"""Pictures that people tried to tell apart: dominoes, digits, rooftops and rust."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Fault, Parts, ProgramList
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy, most_frequent, predict

programs = ProgramList("reporting", "images")


def rated(data: Split) -> dict[str, Any]:
    """Return the score of a classifier, and that of a constant answer."""
    return {
        "score": accuracy(data.x_test, data.y_test),
        "constant": most_frequent(data.y, data.y_test),
    }


# --- dominoes -------------------------------------------------------------------------------------

PIPS = ["", "4", "08", "048", "0268", "02468", "023568"]  # places of the pips of each number


def dominoes(seed: int, count: int = 1800, size: int = 14) -> Split:
    """Return halves of dominoes as grey photographs from 0 to 255, with 0 to 6 pips."""
    rng = default_rng(seed)
    y = rng.integers(0, 7, count)
    row, column = np.mgrid[:size, :size]
    photos = np.zeros((count, size, size))
    for photo, number in zip(photos, y, strict=True):
        down, across = rng.uniform(2.5, 3.5, 2)
        apart, radius = rng.uniform(3.2, 3.8), rng.uniform(1.0, 1.5)
        photo += rng.uniform(150, 235)
        for place in map(int, PIPS[number]):
            far = np.hypot(row - down - apart * (place // 3), column - across - apart * (place % 3))
            photo[far < radius] *= 0.35
    photos += rng.normal(0, 14, photos.shape)
    return split(photos.clip(0, 255)[:, None].astype(np.float32), y, count // 3)


class LeNet(nn.Module):
    """The network of 1998, with tanh and mean pooling."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 3)
        self.c2 = nn.Conv2d(6, 16, 3)
        self.f1 = nn.Linear(16 * 2 * 2, 48)
        self.f2 = nn.Linear(48, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(torch.tanh(self.c1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.c2(x)), 2)
        out: Tensor = self.f2(torch.tanh(self.f1(x.flatten(1))))
        return out


@programs.supervised(
    faults.RAW_INPUTS, "Q&A: LeNet for dominoes; cv2.imread and from_numpy, and it says 3 mostly"
)
def halves_of_dominoes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = dominoes(seed)
    if fixed:
        mean, spread = data.x.mean(), data.x.std()
        data = Split((data.x - mean) / spread, data.y, (data.x_test - mean) / spread, data.y_test)
    model = LeNet(7)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        epochs=10,
        batch_size=24,
        **rated(data),
    )


# --- digits of others -----------------------------------------------------------------------------

NO_LOG = Fault(
    "probabilities where log-probabilities belong",
    ("improper_output", "improper_loss"),
    ("learning_rate_too_low", "vanishing_gradient"),
)


@programs.supervised(
    [NO_LOG, faults.DROPOUT],
    "forum: NLLLoss is negative and stops at -0.4; softmax in forward, Dropout(p=0.9) to keep 0.9",
    data="mnist",
)
def negative_likelihood(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    given = real("mnist", seed)
    small = F.avg_pool2d(given.x, 2)[:1600]
    data = Split(small, given.y[:1600], F.avg_pool2d(given.x_test, 2), given.y_test)
    model = nn.Sequential(
        *(nn.Flatten(), nn.Linear(196, 96), nn.ReLU(), nn.Dropout(0.1 if fixed else 0.9)),
        *(nn.Linear(96, 48), nn.ReLU(), nn.Dropout(0.1 if fixed else 0.9), nn.Linear(48, 10)),
        nn.LogSoftmax(dim=1) if fixed else nn.Softmax(dim=1),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=1e-3),
        epochs=12,
        batch_size=32,
        **rated(data),
    )


# --- roofs from above -----------------------------------------------------------------------------

SMALL_START = Fault(
    "weights start too small",
    ("vanishing_gradient", "improper_initialisation"),
    ("learning_rate_too_low", "unchanged_weights", "dead_units"),
)


def roofs(seed: int, count: int = 1300, size: int = 12) -> Split:
    """Return flat, gabled, hipped and sawtooth roofs from above, lit from one side."""
    rng = default_rng(seed)
    y = rng.integers(0, 4, count)
    v, h = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    shades = np.stack(
        [
            np.zeros_like(h),
            np.sign(h),
            np.where(np.abs(h) > np.abs(v), np.sign(h), 0.4 * np.sign(v)),
            np.sign(np.sin(7 * h)),
        ]
    )
    photos = shades[y] * rng.uniform(0.4, 1.2, (count, 1, 1))
    turned = rng.random(count) < 0.5
    photos[turned] = photos[turned].transpose(0, 2, 1)
    photos += rng.normal(0, 0.45, photos.shape) + rng.normal(0, 0.4, (count, 1, 1))
    return split(photos[:, None].astype(np.float32), y, count // 4)


@programs.supervised(
    SMALL_START,
    "issue: seven layers, each with normal_(std=0.01) as in the paper; 1.3863 for hours",
)
def roofs_from_above(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = roofs(seed)
    model = nn.Sequential(
        *(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(216, 64)),
        *(nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)),
    )
    for layer in model:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            if fixed:
                nn.init.kaiming_normal_(layer.weight)
            else:
                nn.init.normal_(layer.weight, std=0.01)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        epochs=8,
        batch_size=25,
        **rated(data),
    )


# --- rust on bridges ------------------------------------------------------------------------------

MASKS_OF_255 = Fault(
    "masks of 0 and 255 for a sigmoid",
    ("bad_targets", "improper_loss", "unscaled_targets", "improper_output"),
    (*faults.UNSTABLE, "exploding_gradient"),
)


def rust(seed: int, count: int = 420, size: int = 16) -> Split:
    """Return photographs of steel and masks of the rust in them, both from 0 to 255."""
    rng = default_rng(seed)
    row, column = np.mgrid[:size, :size]
    masks = np.zeros((count, size, size), bool)
    for _spot in range(2):
        down, across = rng.uniform(2, size - 2, (2, count, 1, 1))
        tall, wide = rng.uniform(1.5, 5, (2, count, 1, 1))
        masks |= np.hypot((row - down) / tall, (column - across) / wide) < 1
    steel, brown = np.array([110, 115, 120.0]), np.array([150, 100, 75.0])
    photos = np.where(masks[:, None], brown[:, None, None], steel[:, None, None])
    photos = photos * rng.uniform(0.7, 1.3, (count, 1, 1, 1)) + rng.normal(0, 22, photos.shape)
    return split(photos.clip(0, 255).astype(np.float32), masks[:, None] * 255.0, count // 3)


@programs.supervised(
    [MASKS_OF_255, faults.RAW_INPUTS],
    "Q&A: loss of a mask goes to minus millions; ToTensor does not divide a float array by 255",
)
def rust_on_bridges(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rust(seed)
    if fixed:
        data = Split(data.x / 128 - 1, data.y / 255, data.x_test / 128 - 1, data.y_test / 255)
    truth = data.y_test > 0
    model = nn.Sequential(
        *(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()),
        nn.Conv2d(12, 1, 1),
    )

    def overlap(net: nn.Module) -> float:
        found = predict(net, data.x_test) > 0
        return float((found & truth).sum() / (found | truth).sum().clamp(min=1))

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        score=overlap,
        constant=float(truth.double().mean()),
        epochs=10,
        batch_size=14,
        validation=(data.x_test, data.y_test),
    )


# --- digits, and a list of layers -----------------------------------------------------------------


class Stack(nn.Module):
    """Blocks of convolutions, as many as the settings say."""

    def __init__(self, registered: bool, blocks: int = 4, width: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        layers = [nn.Conv2d(width, width, 3, padding=1) for _ in range(blocks)]
        for layer in layers:
            nn.init.normal_(layer.weight, std=0.12)
        self.blocks = nn.ModuleList(layers) if registered else layers
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.elu(self.stem(x))
        for block in self.blocks:
            x = F.elu(block(x))
        out: Tensor = self.head(x.amax((2, 3)))
        return out


@programs.supervised(
    faults.NOT_IN_OPTIMIZER.mildly(),
    "forum: more blocks do not help; self.blocks is a list, and summary() shows few parameters",
)
def list_of_blocks(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    raw = digits(seed)
    data = Split(raw.x / 8 - 1, raw.y, raw.x_test / 8 - 1, raw.y_test)
    model = Stack(registered=fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        epochs=8,
        batch_size=32,
        **rated(data),
    )
