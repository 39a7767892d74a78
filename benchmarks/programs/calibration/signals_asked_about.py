"""Series: visitors of a museum, steps of a walker, wear of a drill and calls."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent, predict, r_squared

programs = ProgramList("calibration", "series")


def museum(seed: int, count: int = 1800, length: int = 28) -> Split:
    """Return four weeks of visitors of a museum, and the visitors of the day after."""
    rng = default_rng(seed)
    day = np.arange(count + length)
    week = np.array([0.3, 0.8, 0.9, 1.0, 1.2, 1.9, 1.7])[day % 7]
    season = 1 + 0.4 * np.sin(2 * np.pi * day / 365)
    shown = 1 + 0.6 * (np.sin(2 * np.pi * day / 61) > 0.4)
    visitors = 2300 * week * season * shown * rng.lognormal(0, 0.06, len(day))
    x = np.stack([visitors[start : start + length] for start in range(count)])
    order = rng.permutation(count)
    return split(x[order, None], visitors[length:][order, None], count // 3)


class MuseumCNN(nn.Module):
    """Two convolutions over the days and a dense layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, kernel_size=7, padding=3)
        self.conv2 = nn.Conv1d(16, 16, kernel_size=7, stride=7)
        self.fc = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.conv1(x))
        x = torch.tanh(self.conv2(x))
        visitors: Tensor = self.fc(x.flatten(1))
        return visitors


@programs.script(
    [faults.RAW_INPUTS, faults.RAW_TARGETS, faults.SCHEDULER.mildly()],
    "course: visitors per day straight from the file, and a schedule in the batch loop",
)
def visitors_of_a_museum(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = museum(seed)
    mean, spread = data.x.mean(), data.x.std()
    x, x_test = data.x, data.x_test
    if fixed:
        x, x_test = (x - mean) / spread, (x_test - mean) / spread
    if not fixed:
        mean, spread = torch.tensor(0.0), torch.tensor(1.0)
    y = (data.y - mean) / spread
    per_epoch = bool(fixed)
    model = MuseumCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.7)
    doctor = watch(model, optimizer)
    for _ in range(40):
        for rows in torch.randperm(len(x)).split(40):
            loss = F.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not per_epoch:
                schedule.step()
        if per_epoch:
            schedule.step()
        doctor.epoch()
    return r_squared(predict(model, x_test), (data.y_test - mean) / spread)


def walkers(seed: int, count: int = 1800, length: int = 32) -> Split:
    """Return how a phone shakes while somebody walks, climbs, runs or limps."""
    rng = default_rng(seed)
    how, start = rng.integers(0, 4, count), rng.uniform(0, 2 * np.pi, (count, 1))
    speed = np.array([0.55, 0.45, 1.1, 0.5])[how][:, None] * rng.uniform(0.9, 1.1, (count, 1))
    turn = speed * np.arange(length) + start
    up = np.sin(turn) + 0.6 * np.sin(2 * turn) * (how == 1)[:, None]
    side = np.cos(turn / 2) * np.where(how == 3, 1.6, 0.5)[:, None]
    x = np.stack([up, side], 2) + rng.normal(0, 0.35, (count, length, 2))
    return split((x / x.std((0, 1))).astype(np.float32), how, count // 3)


class WalkerAttention(nn.Module):
    """Pieces of four steps, places, two layers of attention, and the mean."""

    def __init__(self) -> None:
        super().__init__()
        self.piece = nn.Linear(8, 32)
        self.places = nn.Parameter(0.1 * torch.randn(8, 32))
        layers = [nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True) for _ in range(2)]
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(self.piece(x.reshape(len(x), 8, 8)) + self.places)
        logits: Tensor = self.head(x.mean(1))
        return logits


@programs.supervised(
    faults.HIGH_RATE,
    "issue: attention for a phone's sensors never gets better than guessing; AdamW at 0.1",
)
def ways_to_walk(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = walkers(seed)
    model = WalkerAttention()
    rate = 2e-3 if fixed else 0.1
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=16,
        batch_size=50,
        validation=(data.x_test, data.y_test),
    )


def drills(seed: int, count: int = 1500, length: int = 18) -> Split:
    """Return force and sound of a drill over a hole, and how worn it is, scaled."""
    rng = default_rng(seed)
    worn, hard = rng.uniform(0, 1, count), rng.uniform(0.5, 1.5, (count, 1))
    time = np.linspace(0, 1, length)
    force = hard * (1 + worn[:, None] * time**2) + rng.normal(0, 0.1, (count, length))
    sound = np.sin((6 + 8 * worn[:, None]) * time + rng.uniform(0, 6, (count, 1)))
    x = np.stack([force, sound + rng.normal(0, 0.2, (count, length))], 2)
    x = (x - x.mean((0, 1))) / x.std((0, 1))
    return split(x.astype(np.float32), ((worn - 0.5) / 0.29)[:, None], count // 3)


class Drill(nn.Module):
    def __init__(self, bound: bool) -> None:
        super().__init__()
        self.rnn = nn.GRU(2, 32, batch_first=True)
        self.fc = nn.Linear(32, 1)
        self.bound = bound

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.rnn(x)
        worn: Tensor = self.fc(states[:, -1])
        return torch.sigmoid(worn) if self.bound else worn


@programs.supervised(
    [faults.BOUNDED_OUTPUT, faults.FEW_EPOCHS.mildly()],
    "Q&A: wear of a drill is standardised now, the sigmoid stayed; three epochs were paid",
)
def wear_of_a_drill(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = drills(seed)
    model = Drill(bound=not fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=4e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25 if fixed else 3,
        batch_size=50,
    )


def calls(seed: int, length: int = 16) -> Split:
    """Return calls per quarter of an hour, which swing fast, as windows and what follows."""
    rng = default_rng(seed)
    time = np.arange(2000)
    made = np.sin(1.9 * time) + 0.7 * np.sin(2.6 * time + 1) + rng.normal(0, 0.2, 2000)
    made = ((made - made.mean()) / made.std()).astype(np.float32)
    starts = rng.permutation(2000 - length)[:1500]
    x = np.stack([made[start : start + length] for start in starts])
    return split(x, made[starts + length, None], 500)


@programs.supervised(
    faults.WRONG_SHIFT,
    "Q&A: nearly no loss after an epoch, and forecasts that lag by a step: x and y end together",
    repairable=False,
)
def calls_of_the_next_quarter(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = calls(seed)
    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 1))
    return Parts(
        model=model,
        data=(data.x, data.y if fixed else data.x[:, -1:]),
        loss=nn.HuberLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=50,
    )
