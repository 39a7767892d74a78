"""A handful of samples, as in a first experiment."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained

programs = ProgramList("calibration", "tiny data")


def exclusive_or() -> tuple[Tensor, Tensor]:
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return x, torch.tensor([0, 1, 1, 0])


@programs.supervised(
    [faults.LOW_RATE, faults.MSE_FOR_CLASSES.mildly()],
    "Q&A: XOR with sigmoids, SGD(0.01) and MSE: 0.25",
)
def xor_slow(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y = exclusive_or()
    middle = nn.Tanh() if fixed else nn.Sigmoid()
    model = nn.Sequential(nn.Linear(2, 8), middle, nn.Linear(8, 1), nn.Sigmoid())
    rate = 0.05 if fixed else 0.01
    make = torch.optim.Adam if fixed else torch.optim.SGD
    return Parts(
        model=model,
        data=(x, y.float().unsqueeze(1)),
        loss=nn.BCELoss() if fixed else nn.MSELoss(),
        optimizer=make(model.parameters(), lr=rate),
        score=accuracy(x, y),
        constant=0.5,
        epochs=1500,
        batch_size=4,
    )


@programs.supervised(faults.NO_ACTIVATION, "Q&A: XOR with two linear layers, every answer is 0.5")
def xor_linear(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y = exclusive_or()
    middle = nn.Tanh() if fixed else nn.Identity()
    model = nn.Sequential(nn.Linear(2, 8), middle, nn.Linear(8, 2))
    return Parts(
        model=model,
        data=(x, y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.02),
        score=accuracy(x, y),
        constant=0.5,
        epochs=1200,
        batch_size=4,
    )


def prices() -> tuple[Tensor, Tensor]:
    """Return years and prices, one each year."""
    year = torch.arange(1990.0, 2022.0).unsqueeze(1)
    return year, 120_000 + 5_500 * (year - 1990) + 9_000 * torch.sin(year)


@programs.supervised(
    [faults.RAW_INPUTS, faults.RAW_TARGETS], "Q&A: a line through years and prices, NaN at step 3"
)
def years_and_prices(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y = prices()
    if fixed:
        x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    model = nn.Linear(1, 1)
    return Parts(
        model=model,
        data=(x, y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        score=explained(x, y),
        constant=0.0,
        epochs=600,
        batch_size=32,
    )


@programs.script(
    [faults.BROADCAST, faults.NO_ZERO_GRAD],
    "Q&A: 20 points, own loop: no zero_grad, and y is (20,)",
)
def twenty_points(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x = torch.linspace(-2, 2, 20).unsqueeze(1)
    y = torch.sin(2 * x).squeeze(1)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    doctor = watch(model, optimizer)
    for _epoch in range(3000):
        prediction = model(x)
        loss = F.mse_loss(prediction, y.unsqueeze(1)) if fixed else ((prediction - y) ** 2).mean()
        if fixed:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return explained(x, y)(model)


@programs.supervised(faults.FEW_EPOCHS.mildly(), "forum: sine curve, 200 steps look like a line")
def sine_too_short(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x = torch.linspace(-3, 3, 60).unsqueeze(1)
    y = torch.sin(2 * x)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))
    return Parts(
        model=model,
        data=(x, y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(x, y),
        constant=0.0,
        epochs=1500 if fixed else 60,
        batch_size=20,
    )
