"""Tables of measurements and a class, as first kernels and questions show them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, most_frequent

programs = ProgramList("calibration", "tabular")


def mushrooms(seed: int, count: int = 3600) -> Split:
    """Return measures of mushrooms: most are edible, some are doubtful, few are deadly."""
    rng = default_rng(seed)
    kind = rng.choice(3, count, p=[0.74, 0.18, 0.08])
    middle = np.array([[0, 0, 0, 0, 0], [1.3, 0.9, -0.6, 0.4, 0], [0.5, -1.2, 1.1, 0, 0.9]])
    x = middle[kind] + rng.normal(0, 0.9, (count, 5))
    x[:, 4] += 0.5 * x[:, 0] * x[:, 1]
    return split(x.astype(np.float32), kind, count // 3).standardised()


class CapAndStem(nn.Module):
    """Two layers and probabilities."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(5, 24)
        self.out = nn.Linear(24, 3)
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(self.out(F.relu(self.hidden(x))), dim=self.dim)


def log_of_right(probabilities: Tensor, kind: Tensor) -> Tensor:
    picked = probabilities.gather(1, kind.unsqueeze(1))
    return -(picked + 1e-8).log().mean()


@programs.supervised(
    faults.SOFTMAX_OVER_BATCH,
    "Q&A: F.softmax(x, dim=0) to silence a warning; too many mushrooms are called deadly",
)
def mushroom_picker(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = mushrooms(seed)
    model = CapAndStem(dim=1 if fixed else 0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=log_of_right,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=40,
    )


def soils(seed: int, count: int = 3300) -> Split:
    """Return readings of a probe in twenty soils."""
    rng = default_rng(seed)
    layout = default_rng(71).normal(0, 1.0, (20, 2, 9))  # each soil occurs wet and dry
    soil, wet = rng.integers(0, 20, count), rng.integers(0, 2, count)
    x = layout[soil, wet] + rng.normal(0, 0.35, (count, 9))
    return split(x.astype(np.float32), soil, count // 3).standardised()


def error_of_rows(outputs: Tensor, soil: Tensor) -> Tensor:
    return F.mse_loss(outputs, F.one_hot(soil, 20).float())


@programs.supervised(
    [faults.LARGE_START.mildly(), faults.MSE_FOR_CLASSES.mildly()],
    "forum: 'I initialise with normal_(std=2) and use MSE on one-hot rows', a forest is far better",
)
def soil_probe(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = soils(seed)
    first, second = nn.Linear(9, 48), nn.Linear(48, 48)
    if not fixed:
        for layer in (first, second):
            nn.init.normal_(layer.weight, std=2.0)
    model = nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), nn.Linear(48, 20))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=F.cross_entropy if fixed else error_of_rows,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.2),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=40,
        batch_size=32,
    )


def arrivals(seed: int, count: int = 2400) -> Split:
    """Return people who arrive at a ward, by pulse, pain and so on, and one of four rooms."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 6))
    bad = x[:, 0] * x[:, 1] + x[:, 2]
    room = (bad > 0).astype(int) + 2 * (x[:, 3] + 0.6 * x[:, 0] > 0)
    clear = (np.abs(bad) > 0.2) & (np.abs(x[:, 3] + 0.6 * x[:, 0]) > 0.15)
    x, room = x[clear], room[clear]
    return split(x.astype(np.float32), room, 600).standardised()


@programs.supervised(
    faults.WRONG_LABELS.mildly(),
    "defects4ML: every third row was labelled by guessing, and the network learns it by heart",
    repairable=False,
)
def ward_rooms(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = arrivals(seed)
    guessed = torch.rand(len(data.y)) < (0.0 if fixed else 0.35)
    rooms = torch.where(guessed, torch.randint(0, 4, data.y.shape), data.y)
    model = nn.Sequential(
        nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    return Parts(
        model=model,
        data=(data.x, rooms),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=40,
        batch_size=32,
    )


def trams(seed: int, count: int = 4000) -> Split:
    """Return rides of trams, and whether they were late."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 8))
    pull = x[:, 0] * x[:, 1] + 0.8 * np.abs(x[:, 2]) - 0.7 * x[:, 3] + 0.5 * x[:, 4]
    late = pull + rng.normal(0, 0.25, count) > np.median(pull)
    x = x * [12, 3, 40, 1, 5, 0.2, 7, 100] + [600, 8, 90, 2, 30, 0.5, 4, 1013]
    return split(x.astype(np.float32), late.astype(int), count // 4).standardised()


class TramNet(nn.Module):
    """Two hidden layers, with dropout."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.one, self.two, self.three = nn.Linear(8, 64), nn.Linear(64, 64), nn.Linear(64, 1)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(F.relu(self.one(x)))
        x = self.drop(F.relu(self.two(x)))
        return self.three(x)


@programs.supervised(
    [faults.DROPOUT, faults.DECAY.mildly(), faults.FEW_EPOCHS.mildly()],
    "Q&A: 'I feared overfitting': dropout of 0.9, strong weight decay and three epochs",
)
def late_trams(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = trams(seed)
    model = TramNet(dropout=0.05 if fixed else 0.9)
    decay = 1e-4 if fixed else 0.05
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=decay),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=15 if fixed else 3,
        batch_size=50,
        validation=(data.x_test, data.y_test.float().unsqueeze(1)),
    )


def hives(seed: int, count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return one row of numbers per sensor of a hive, and the state that the hives are in."""
    rng = default_rng(seed)
    state = rng.integers(0, 4, count)
    warmth = np.array([34.5, 35.5, 33.0, 35.0])[state] + rng.normal(0, 0.5, count)
    hum = np.array([250, 300, 270, 420])[state] + rng.normal(0, 30, count)
    weight = np.array([42, 47, 35, 44])[state] + rng.normal(0, 3, count)
    flights = np.array([60, 20, 40, 90])[state] * rng.lognormal(0, 0.3, count)
    return np.stack([warmth, hum, weight, np.log(flights)]), state


@programs.supervised(
    faults.MIXED_SAMPLES,
    "Q&A: sensors come as (4, N); reshape(-1, 4) where a transpose was meant",
    repairable=False,
)
def hive_states(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    sensors, state = hives(seed)
    sensors = (sensors - sensors.mean(1, keepdims=True)) / sensors.std(1, keepdims=True)
    rows = sensors.T if fixed else sensors.reshape(-1, 4)
    data = split(rows.astype(np.float32), state, 500)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 4))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=25,
        validation=(data.x_test, data.y_test),
    )


def meters(seed: int, whole: bool, count: int = 3200) -> Split:
    """Return shares of a household's power. `whole` divides whole numbers by whole numbers."""
    rng = default_rng(seed)
    parts = rng.gamma(2.0, 400, (count, 8)).astype(np.int64)
    total = parts.sum(1, keepdims=True)
    night = rng.normal(0, 1, (count, 4))
    share = parts / total
    pull = 14 * (share[:, 0] - share[:, 1]) + night[:, 0], night[:, 1], night[:, 2]
    kind = np.stack([*pull, 1.2 * night[:, 3]], 1).argmax(1)
    columns = parts // total if whole else share
    x = np.concatenate([columns, night], 1)
    return split(x.astype(np.float32), kind, count // 4).standardised()


@programs.supervised(
    [faults.EVAL_MODE, faults.CONSTANT_INPUTS.mildly()],
    "issue: a deep network stays in model.eval() after a look at shapes, and '//' makes shares 0",
    repairable=False,
)
def power_meters(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = meters(seed, whole=not fixed)
    blocks: list[nn.Module] = []
    for width in (12, *[40] * 7):
        blocks += [nn.Linear(width, 40), nn.BatchNorm1d(40), nn.ReLU()]
    model = nn.Sequential(*blocks, nn.Linear(40, 4))
    model.eval()
    with torch.no_grad():
        assert model(data.x[:2]).shape == (2, 4)
    if fixed:
        model.train()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=15,
        batch_size=64,
    )
