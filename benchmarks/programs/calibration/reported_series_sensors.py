"""Time series of sensors: river levels, machines and stations with gaps."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "series")
AHEAD = 6  # hours


def river(seed: int, count: int = 1500, length: int = 18) -> tuple[Split, Tensor]:
    """Return standardised rain and level, the level in six hours, and the level now."""
    rng = default_rng(seed)
    hours = count + length + AHEAD
    rain = rng.gamma(0.15, 4, hours) * (np.sin(np.arange(hours) / 9) > -0.2)
    level, level_now = np.zeros(hours), 0.0
    for hour in range(hours):
        level_now = 0.88 * level_now + 0.3 * rain[max(0, hour - 5)]
        level[hour] = level_now
    level += rng.normal(0, 0.05, hours)
    both = np.stack([rain / rain.std(), (level - level.mean()) / level.std()], 1)
    places = rng.permutation(count)
    x = np.stack([both[place : place + length] for place in places])
    ends = places + length - 1
    made = split(x, both[ends + AHEAD, 1:], 400)
    return made, torch.as_tensor(both[ends, 1:]).float()[:-400]


@programs.supervised(
    [faults.WRONG_SHIFT.mildly(), faults.BATCH_OF_ONE.mildly()],
    "forum: forecasts lag behind the river: shift(0) for the targets, and batch_size=1 with SGD",
    repairable=False,
)
def river_of_now(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    water, now = river(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 24), nn.Tanh(), nn.Linear(24, 1))
    return Parts(
        model=model,
        data=(water.x, water.y if fixed else now),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        score=explained(water.x_test, water.y_test),
        constant=0.0,
        epochs=8,
        batch_size=8 if fixed else 1,
    )


def stations(seed: int, gaps: bool, count: int = 1200, length: int = 24) -> Split:
    """Return a day of humidity, pressure and wind, and the temperature after it.

    A few values are missing. They are filled with 0, the mean, or left as they are.
    """
    rng = default_rng(seed)
    warm = rng.normal(0, 1, (count, 1))
    trend = rng.normal(0, 1, (count, 1))
    time = np.linspace(-1, 1, length)
    humid = -0.7 * warm + 0.5 * np.sin(3 * time) + rng.normal(0, 0.3, (count, length))
    pressure = trend * time + rng.normal(0, 0.3, (count, length))
    wind = 0.5 * np.abs(trend) + rng.normal(0, 0.4, (count, length))
    x = np.stack([humid, pressure, wind], 1)
    x = (x - x.mean((0, 2), keepdims=True)) / x.std((0, 2), keepdims=True)
    x[rng.random(x.shape) < 0.002] = np.nan
    y = warm + 0.8 * np.tanh(1.5 * trend) + rng.normal(0, 0.15, (count, 1))
    y = (y - y.mean()) / y.std()
    return split((x if gaps else np.nan_to_num(x)).astype(np.float32), y, 300)


class Station(nn.Module):
    """Two strided convolutions and a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv1d(3, 16, 5, stride=2), nn.ELU(), nn.Conv1d(16, 16, 5, stride=2), nn.ELU()
        )
        self.head = nn.Linear(16 * 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.convs(x).flatten(1))


@programs.supervised(
    faults.NAN_INPUTS,
    "Q&A: the loss is nan from the first epoch; some hours of the weather stations are missing",
    repairable=False,
)
def stations_with_gaps(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    weather = stations(seed, gaps=not fixed)
    held_out = weather.x_test.nan_to_num()
    model = Station()
    return Parts(
        model=model,
        data=(weather.x, weather.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02),
        score=explained(held_out, weather.y_test),
        constant=0.0,
        epochs=16,
        batch_size=30,
        validation=(held_out, weather.y_test),
    )


def vibrations(seed: int, count: int = 2800, length: int = 32) -> Split:
    """Return the spectrum of a machine's vibration, and its state: fine, worn or loose."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    speed = rng.uniform(0.5, 0.62, (count, 1))
    time = np.arange(2 * length)
    wave = np.sin(speed * time + rng.uniform(0, 6, (count, 1)))
    wave += np.where(y == 1, 0.5, 0.0)[:, None] * np.sin(2 * speed * time)
    wave += np.where(y == 2, 0.5, 0.0)[:, None] * np.sin(3 * speed * time)
    wave += rng.normal(0, 0.22, wave.shape)
    spectrum = np.log(np.abs(np.fft.rfft(wave * np.hanning(2 * length))[:, 1:]) + 1e-2)
    return split(spectrum.astype(np.float32), y, 400)


@programs.supervised(
    faults.DEEP_SIGMOID.mildly(),
    "forum: seven layers with sigmoid to be safe, and it learns far less",
)
def vibrations_seven_sigmoids(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    machine = vibrations(seed).standardised()
    layers: list[nn.Module] = []
    for width in (32, 24, 24, 24, 24, 24, 24):
        layers += [nn.Linear(width, 24), nn.ReLU() if fixed else nn.Sigmoid()]
    model = nn.Sequential(*layers, nn.Linear(24, 3))
    return Parts(
        model=model,
        data=(machine.x, machine.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=accuracy(machine.x_test, machine.y_test),
        constant=most_frequent(machine.y, machine.y_test),
        epochs=4,
        batch_size=20,
        validation=(machine.x_test, machine.y_test),
    )
