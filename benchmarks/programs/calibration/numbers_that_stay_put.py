"""Numbers to predict: wind, noise, calories and bikes, where the answers hardly move."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "regression")


def turbines(seed: int, count: int = 2400) -> Split:
    """Return weather at a wind turbine and its power, scaled to a deviation of 1."""
    rng = default_rng(seed)
    wind, gust = 6.5 * rng.weibull(2, count), rng.gamma(2, 0.7, count)
    angle, air = rng.uniform(-25, 25, count), rng.normal(1.22, 0.04, count)
    ice = rng.random(count) < 0.15
    power = 2000 / (1 + np.exp(-1.1 * (wind - 7.5))) * np.cos(np.radians(2 * angle)) * air
    power = power * (1 - 0.5 * ice) + 45 * gust + rng.normal(0, 60, count)
    x = np.stack([wind, gust, angle, air, ice], 1).astype(np.float32)
    return split(x, ((power - power.mean()) / power.std())[:, None], count // 3)


@programs.script(
    [faults.BOUNDED_OUTPUT, faults.CLIPPING.mildly(), faults.DECAY.mildly()],
    "issue: power of a turbine is never below the mean; made stable by clipping and weight decay",
)
def power_of_the_wind(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = turbines(seed).standardised()
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
    model.append(nn.Linear(32, 1))
    if not fixed:
        model.append(nn.Sigmoid())
    decay = 1e-4 if fixed else 0.03
    limit = 5.0 if fixed else 0.08
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=decay)
    criterion = nn.MSELoss()
    doctor = watch(model, optimizer)
    for _ in range(12):
        model.train()
        for rows in torch.randperm(len(data.x)).split(64):
            optimizer.zero_grad()
            loss = criterion(model(data.x[rows]), data.y[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), limit)
            optimizer.step()
            doctor.step(loss)
        model.eval()
        with torch.no_grad():
            doctor.epoch(val_loss=float(criterion(model(data.x_test), data.y_test)))
    return explained(data.x_test, data.y_test)(model)


def noises(seed: int, count: int = 2100) -> Split:
    """Return what a wing went through in a tunnel, and how loud it was, scaled."""
    rng = default_rng(seed)
    pitch, angle = np.exp(rng.uniform(5.5, 9.5, count)), rng.uniform(0, 22, count)
    chord, speed = rng.choice([0.025, 0.05, 0.1, 0.15, 0.3], count), rng.uniform(30, 72, count)
    peak = np.log(speed / chord) + 1.2 - 0.03 * angle
    loud = 126 - 2.2 * (np.log(pitch) - peak) ** 2 + 0.15 * speed - 0.1 * angle * (chord > 0.1)
    loud = loud + rng.normal(0, 1, count)
    x = np.stack([np.log(pitch), angle, np.log(chord), speed], 1).astype(np.float32)
    return split(x, ((loud - loud.mean()) / loud.std())[:, None], count // 3)


class Wing(nn.Module):
    def __init__(self, gain: float | None) -> None:
        super().__init__()
        first, second = nn.Linear(4, 64), nn.Linear(64, 64)
        if gain is not None:
            nn.init.normal_(first.weight, std=gain)
            nn.init.normal_(second.weight, std=gain)
        self.layers = nn.ModuleList([first, second])
        self.out = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        loudness: Tensor = self.out(x)
        return loudness


@programs.supervised(
    [faults.LARGE_START.mildly(), faults.HIGH_RATE.mildly()],
    "Q&A: noise of a wing, the loss jumps around 0.5; weights from normal_() and RMSprop at 0.02",
)
def noise_of_a_wing(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = noises(seed).standardised()
    model = Wing(None if fixed else 1.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=1e-3 if fixed else 0.02),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
        batch_size=50,
    )


def walks(seed: int, count: int = 1800) -> Split:
    """Return walks with a watch on, and the calories they took, scaled."""
    rng = default_rng(seed)
    minutes, pulse = rng.gamma(4, 11, count), rng.normal(118, 17, count)
    weight, climb = rng.normal(74, 13, count), rng.exponential(80, count)
    used = minutes * (0.045 * pulse + 0.03 * weight - 2.5) + 0.012 * weight * climb
    used = used + rng.normal(0, 15, count)
    x = np.stack([minutes, pulse, weight, climb], 1).astype(np.float32)
    return split(x, ((used - used.mean()) / used.std())[:, None], count // 3)


@programs.supervised(
    faults.ZERO_START,
    "Q&A: every walk is predicted the mean; init_weights fills everything with constants of 0",
)
def calories_of_a_walk(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = walks(seed).standardised()
    model = nn.Sequential(
        *(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    )
    for parameter in model.parameters():
        if parameter.ndim == 1:
            nn.init.zeros_(parameter)
        elif fixed:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.constant_(parameter, 0.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.L1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=50,
    )


def bikes(seed: int, count: int = 2400) -> Split:
    """Return hours of a city and how many bikes were lent, up to a few thousand."""
    rng = default_rng(seed)
    hour, warm = rng.integers(0, 24, count), rng.normal(14, 8, count)
    rain, free = rng.exponential(0.6, count), rng.random(count) < 0.3
    rush = np.exp(-((hour - 8) ** 2) / 4) + 1.3 * np.exp(-((hour - 18) ** 2) / 8)
    noon = np.exp(-((hour - 14) ** 2) / 20)
    lent = 400 + np.where(free, 1500 * noon, 1800 * rush) * np.clip(0.3 + warm / 25, 0.1, 1.4)
    lent = lent * np.exp(-rain / 2) * rng.lognormal(0, 0.08, count)
    turn = 2 * np.pi * hour / 24
    x = np.stack([np.sin(turn), np.cos(turn), warm, rain, free], 1).astype(np.float32)
    return split(x, lent[:, None], count // 3)


class Lent(nn.Module):
    def __init__(self, act: type[nn.Module]) -> None:
        super().__init__()
        sizes = [5, 64, 64, 64, 64]
        pairs = pairwise(sizes)
        self.net = nn.Sequential(*(nn.Sequential(nn.Linear(a, b), act()) for a, b in pairs))
        self.out = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        lent: Tensor = self.out(self.net(x))
        return lent


@programs.supervised(
    [faults.DEEP_SIGMOID, faults.RAW_TARGETS],
    "forum: lent bikes by the hour, the same for all; four sigmoid layers, counts as they are",
)
def lent_bikes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bikes(seed).standardised()
    mean, spread = data.y.mean(), data.y.std()
    if not fixed:
        mean, spread = torch.tensor(0.0), torch.tensor(1.0)
    model = Lent(nn.ReLU if fixed else nn.Sigmoid)
    return Parts(
        model=model,
        data=(data.x, (data.y - mean) / spread),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, (data.y_test - mean) / spread),
        constant=0.0,
        epochs=40,
        batch_size=64,
    )
