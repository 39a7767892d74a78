"""Numbers to predict: prices, minutes, positions, energy."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "regression")


def unit(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(0)) / values.std(0)


@programs.script(
    [faults.DETACHED.mildly(), faults.RELU_OUTPUT.mildly()],
    "issue: LBFGS stops early; .data in forward, and ReLU after every layer",
)
def heating_load(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.uniform(-1, 1, (900, 5))
    load = 2 * x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) - x[:, 3] + rng.normal(0, 0.25, 900)
    data = split(x * 1.7, unit(load)[:, None], 300)
    first, second = nn.Linear(5, 12), nn.Linear(12, 1)
    model = nn.ModuleList([first, second])

    def forward(rows: Tensor) -> Tensor:
        hidden = torch.tanh(first(rows))
        if fixed:
            return second(hidden)
        return F.relu(second(hidden.data))

    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)
    doctor = watch(model, optimizer)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(forward(data.x), data.y)
        loss.backward()
        return loss

    for _step in range(60):
        doctor.step(optimizer.step(closure))
    with torch.no_grad():
        error = F.mse_loss(forward(data.x_test), data.y_test)
    return 1 - float(error / data.y_test.var())


@programs.supervised(
    [faults.BOUNDED_OUTPUT.mildly(), faults.FEW_EPOCHS.mildly()],
    "Q&A: predictions flatten out; tanh at the end, z-scored target, and 3 epochs",
)
def claim_sizes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (2400, 6))
    claim = np.exp(0.5 * x[:, 0] + 0.4 * x[:, 1] * (x[:, 2] > 0)) + 0.3 * x[:, 3]
    claim += rng.normal(0, 0.25, 2400)
    data = split(x, unit(claim)[:, None], 800)
    model = nn.Sequential(nn.Linear(6, 24), nn.CELU(), nn.Linear(24, 8), nn.CELU())
    model.append(nn.Linear(8, 1))
    if not fixed:
        model.append(nn.Tanh())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=4e-3),
        validation=(data.x_test, data.y_test),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=45 if fixed else 3,
        batch_size=60,
    )


class Ride(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.silu(self.hidden(x)))


@programs.supervised(
    faults.BROADCAST, "forum: my regression predicts the mean; (n, 1) minus (n,) in an own RMSE"
)
def bike_rides(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    hour, warm = rng.uniform(0, 24, 2100), rng.normal(15, 8, 2100)
    wet, free = rng.random(2100) < 0.25, rng.random(2100) < 0.3
    rides = 4 + 2 * np.cos((hour - 16) * np.pi / 12) + 0.08 * warm - 1.5 * wet + free
    clock = hour * np.pi / 12
    x = np.stack([np.sin(clock), np.cos(clock), (warm - 15) / 8, wet - 0.25], 1)
    data = split(x, unit(rides + rng.normal(0, 0.4, 2100)), 700)
    model = Ride()

    def rmse(outputs: Tensor, rides: Tensor) -> Tensor:
        if fixed:
            outputs = outputs.squeeze(1)
        return ((outputs - rides) ** 2).mean().sqrt()

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=rmse,
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=35,
    )


def cars(seed: int) -> Split:
    """Return used cars and what they were sold for."""
    rng = default_rng(seed)
    year, power = rng.integers(2004, 2023, 2400), rng.gamma(9, 13, 2400)
    driven = (2023 - year) * rng.gamma(6, 2200, 2400) + 500
    price = (4000 + 190 * power) * np.exp(-0.09 * (2023 - year) - driven / 400_000)
    price = price * rng.lognormal(0, 0.1, 2400)
    return split(np.stack([year, power, driven], 1).astype(float), price[:, None], 800)


@programs.supervised(
    [faults.RAW_TARGETS, faults.RAW_INPUTS, faults.LOW_RATE],
    "Q&A: the loss is 1e8 and hardly moves; nothing scaled, Adam with 2e-5 'to be safe'",
)
def used_cars(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = cars(seed)
    x, y, x_test, y_test = data.x, data.y, data.x_test, data.y_test
    if fixed:
        scaled = data.standardised()
        x, x_test = scaled.x, scaled.x_test
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    model = nn.Sequential(
        nn.Linear(3, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 1)
    )
    return Parts(
        model=model,
        data=(x, y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 2e-5),
        score=explained(x_test, y_test),
        constant=0.0,
        epochs=25,
        batch_size=40,
    )


@programs.supervised(
    faults.WRONG_DIMENSION, "forum: both coordinates are averaged over the batch before the error"
)
def robot_arm(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    angles = rng.uniform(-1.2, 1.2, (2100, 2))
    bend = angles.sum(1)
    tip = np.stack([np.cos(angles[:, 0]) + 0.7 * np.cos(bend), np.sin(angles[:, 0])], 1)
    tip[:, 1] += 0.7 * np.sin(bend)
    data = split(angles / 0.7, unit(tip) + rng.normal(0, 0.15, (2100, 2)), 700)
    model = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 2))

    def distance(outputs: Tensor, tips: Tensor) -> Tensor:
        if fixed:
            return (outputs - tips).square().sum(1).mean()
        return (outputs.mean(0) - tips.mean(0)).square().sum()

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=distance,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=50,
    )
