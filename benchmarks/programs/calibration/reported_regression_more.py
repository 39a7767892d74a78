"""More numbers to predict: depths, delays, yields."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.calibration.reported_regression import unit
from benchmarks.programs.data import split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "regression")

MISSING_CODE = Fault(
    "a code for missing values among the numbers",
    ("bad_inputs", "outliers", "unnormalised_input"),
    (*faults.TOO_HIGH, *faults.UNSTABLE),
)


@programs.supervised(
    faults.DEEP_SIGMOID, "Q&A: one hidden layer works, seven sigmoid layers predict a constant"
)
def concrete_strength(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (3000, 7))
    strength = x[:, 0] - 0.8 * x[:, 1] + 0.6 * np.maximum(x[:, 2], 0) + 0.4 * x[:, 3] * x[:, 0]
    data = split(x, unit(strength + rng.normal(0, 0.35, 3000))[:, None], 1000)
    act = nn.SELU if fixed else nn.Sigmoid
    layers: list[nn.Module] = [nn.Linear(7, 16), act()]
    for _ in range(6):
        layers += [nn.Linear(16, 16), act()]
    model = nn.Sequential(*layers, nn.Linear(16, 1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=50,
    )


@programs.script(
    [faults.NO_ZERO_GRAD, faults.SUM, faults.RAW_TARGETS],
    "forum: nan after a few steps of a loop typed from memory; minutes of delay as they are",
)
def train_delays(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (1500, 5)).astype(np.float32)
    delay = 140 + 45 * x[:, 0] + 30 * np.abs(x[:, 1]) - 25 * x[:, 2] + rng.normal(0, 15, 1500)
    data = split(x, (unit(delay) if fixed else delay)[:, None], 500)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    criterion = nn.MSELoss(reduction="mean" if fixed else "sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.5)
    doctor = watch(model, optimizer)
    for _epoch in range(40):
        for rows in torch.randperm(1000).split(20):
            if fixed:
                model.zero_grad()
            loss = criterion(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return explained(data.x_test, data.y_test)(model)


def stations(seed: int, fixed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return soundings of weather stations that write -999 where an instrument failed."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (2400, 6))
    rain = x[:, 0] + 0.7 * x[:, 1] * x[:, 2] + 0.5 * x[:, 3] + rng.normal(0, 0.25, 2400)
    x = x * [5, 8, 2, 1, 20, 3] + [12, 60, 4, 0, 1013, 5]
    broken = rng.random(x.shape) < 0.006
    if fixed:
        filled = np.median(x, 0) * np.ones_like(x)
        return unit(np.where(broken, filled, x)), unit(rain)
    return unit(np.where(broken, -999.0, x)), unit(rain)


@programs.supervised(
    MISSING_CODE,
    "Q&A: no fit at all; StandardScaler over columns that hold -999 here and there",
    repairable=False,
)
def rain_stations(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, rain = stations(seed, fixed)
    data = split(x, rain[:, None], 800)
    model = nn.Sequential(
        nn.Linear(6, 32), nn.BatchNorm1d(32), nn.SiLU(), nn.Dropout(0.02), nn.Linear(32, 1)
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.HuberLoss(delta=2.0),
        optimizer=torch.optim.RAdam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
        batch_size=64,
    )


@programs.supervised(
    faults.CONSTANT_INPUTS,
    "forum: every prediction is the same; np.clip(x, 0, 1) before the scaling",
    repairable=False,
)
def crop_yield(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    rain, warm, nitrogen = rng.gamma(9, 70, 1500), rng.normal(18, 3, 1500), rng.gamma(5, 20, 1500)
    grown = np.log(rain) + 0.01 * nitrogen - 0.03 * (warm - 18) ** 2 + rng.normal(0, 0.15, 1500)
    x = np.stack([rain, warm, nitrogen], 1)
    lows, highs = x.min(0), x.max(0)
    if not fixed:
        x = np.clip(x, 0, 1)  # against outliers, but every value is above 1
    x = 2 * (x - lows) / (highs - lows) - 1
    data = split(x, unit(grown), 500)
    model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1), nn.Flatten(0))

    def loss(outputs: Tensor, grown: Tensor) -> Tensor:
        return (outputs - grown).abs().mean()

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=loss,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.02),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=60,
        batch_size=50,
    )
