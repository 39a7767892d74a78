"""Time series: demand for heat, currencies, movements, heart beats, rivers and machines."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "series")


def heat(seed: int, count: int = 1300, length: int = 24) -> Split:
    """Return hours of outside temperature and demand, and the demand of the next hour in kW."""
    rng = default_rng(seed)
    hour = np.arange(count + length)
    outside = 6 - 7 * np.cos(2 * np.pi * hour / 24) + 5 * np.sin(2 * np.pi * hour / 700)
    outside += np.convolve(rng.normal(0, 2, len(hour)), np.ones(6) / 6, "same")
    morning = np.exp(-0.5 * ((hour % 24 - 7) / 1.5) ** 2)
    demand = 900 + 55 * np.maximum(18 - outside, 0) + 380 * morning + rng.normal(0, 25, len(hour))
    both = np.stack([outside / 10, demand / 1000 - 1.5], 1)
    x = np.stack([both[start : start + length] for start in range(count)])
    order = rng.permutation(count)
    return split(x[order], demand[length:][order, None], 350)


class HeatModel(nn.Module):
    """The last state of a GRU, and a head with dropout."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 24, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.gru(x)
        return self.head(self.drop(states[:, -1]))


@programs.supervised(
    [faults.RAW_TARGETS, faults.DROPOUT.mildly()],
    "forum: the predicted demand is a flat line; kilowatts as they are, and Dropout(0.9)",
)
def heat_in_kilowatts(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    town = heat(seed)
    mean, spread = (town.y.mean(), town.y.std()) if fixed else (0.0, 1.0)
    model = HeatModel(0.05 if fixed else 0.9)
    target, held_out = (town.y - mean) / spread, (town.y_test - mean) / spread
    return Parts(
        model=model,
        data=(town.x, target),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(town.x_test, held_out),
        constant=0.0,
        epochs=20,
        batch_size=32,
        validation=(town.x_test, held_out),
    )


class TCN(nn.Module):
    """Dilated convolutions that look back only, one value per currency."""

    def __init__(self, channels: int, bounded: bool) -> None:
        super().__init__()
        self.first = nn.Conv1d(channels, 24, 2)
        self.second = nn.Conv1d(24, 24, 2, dilation=2)
        self.third = nn.Conv1d(24, 24, 2, dilation=4)
        self.out = nn.Linear(24, channels)
        self.bounded = bounded

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        for layer in (self.first, self.second, self.third):
            x = F.leaky_relu(layer(F.pad(x, (layer.dilation[0], 0))), 0.1)
        rate = self.out(x[:, :, -1])
        return torch.sigmoid(rate) if self.bounded else rate


@programs.supervised(
    [faults.BOUNDED_OUTPUT.mildly(), faults.SUM],
    "issue: sigmoid left from min-max scaling, now with z-scores and MSELoss(reduction='sum')",
    data="exchange",
)
def currencies_sigmoid_and_sum(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rates = real("exchange", seed)
    model = TCN(rates.size, bounded=not fixed)
    return Parts(
        model=model,
        data=(rates.x, rates.y),
        loss=nn.MSELoss(reduction="mean" if fixed else "sum"),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True),
        score=explained(rates.x_test, rates.y_test),
        constant=0.0,
        epochs=8,
        batch_size=32,
    )


def movements(seed: int, count: int = 1400, length: int = 32) -> Split:
    """Return three axes of an accelerometer, raw in mg, and what the person does."""
    rng = default_rng(seed)
    y = rng.integers(0, 4, count)
    pace = np.array([0.0, 0.35, 0.6, 0.45])[y][:, None] * rng.normal(1, 0.06, (count, 1))
    force = np.array([0.05, 0.5, 1.1, 0.6])[y][:, None] * rng.uniform(0.7, 1.3, (count, 1))
    swing = np.arange(length) * pace + rng.uniform(0, 2 * np.pi, (count, 1))
    up = 1 + force * np.sin(swing)
    ahead = 0.5 * force * np.sin(2 * swing + 0.6 * (y == 3)[:, None])
    aside = np.where(y == 3, 0.6, 0.1)[:, None] * force * np.cos(swing)
    x = np.stack([up, ahead, aside], 1) + rng.normal(0, 0.12, (count, 3, length))
    return split((1000 * x).astype(np.float32), y, 400)


def deep_convolutions(blocks: int = 9) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv1d(3, 16, 3, padding=1), nn.ReLU()]
    for _ in range(blocks):
        layers += [nn.Conv1d(16, 16, 3, padding=1, bias=False), nn.BatchNorm1d(16), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4))


@programs.supervised(
    [faults.EVAL_MODE, faults.RAW_INPUTS],
    "Q&A: model.eval() left over from a demo, and an accelerometer in milli-g",
)
def movements_in_eval_mode(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    walks = movements(seed)
    if fixed:
        walks = walks.standardised()
    model = deep_convolutions()
    model.train(fixed)
    return Parts(
        model=model,
        data=(walks.x, walks.y),
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        score=accuracy(walks.x_test, walks.y_test),
        constant=most_frequent(walks.y, walks.y_test),
        epochs=10,
        batch_size=40,
    )


def beats(seed: int, count: int = 1500, length: int = 40) -> Split:
    """Return single heart beats: normal, without a P wave, and with a wide main wave."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    time = np.arange(length) + rng.normal(0, 1.5, (count, 1))

    def bump(centre: float, width: np.ndarray, height: np.ndarray) -> np.ndarray:
        return height[:, None] * np.exp(-0.5 * ((time - centre) / width[:, None]) ** 2)

    strength = rng.uniform(0.8, 1.2, count)
    x = bump(10, np.full(count, 1.8), np.where(y == 1, 0.0, 0.5) * strength)
    x += bump(19, np.where(y == 2, 3.0, 1.2), 1.8 * strength)
    x += bump(31, np.full(count, 3.0), 0.6 * strength) + rng.normal(0, 0.12, x.shape)
    return split(((x - x.mean()) / x.std())[:, :, None].astype(np.float32), y, 450)


class BeatRNN(nn.Module):
    def __init__(self, viewed: bool) -> None:
        super().__init__()
        self.rnn = nn.GRU(1, 16, batch_first=True, bidirectional=True)
        self.classify = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3))
        self.viewed = viewed

    def forward(self, x: Tensor) -> Tensor:
        _, last = self.rnn(x)  # (directions, beats, 16)
        if self.viewed:
            return self.classify(last.view(len(x), -1))
        return self.classify(torch.cat([last[0], last[1]], 1))


@programs.supervised(
    faults.MIXED_SAMPLES,
    "forum: h_n.view(batch_size, -1) of a bidirectional GRU; the loss hardly moves",
    repairable=False,
)
def beats_viewed(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    heart = beats(seed)
    model = BeatRNN(viewed=not fixed)
    return Parts(
        model=model,
        data=(heart.x, heart.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(heart.x_test, heart.y_test),
        constant=most_frequent(heart.y, heart.y_test),
        epochs=16,
        batch_size=30,
    )
