"""Numbers to predict: cubes, the second largest, concrete, parcels and rents."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import explained, predict, r_squared

programs = ProgramList("calibration", "regression")


def scaled(values: Tensor, like: Tensor) -> Tensor:
    """Return values with the mean and the deviation of `like` taken out."""
    return (values - like.mean(0)) / like.std(0)


@programs.supervised(
    [faults.RAW_INPUTS, faults.RAW_TARGETS],
    "forum: a network cannot learn the cubes of 1 to 4000, its loss is 1e20",
)
def cubes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    numbers = 1 + torch.randperm(4000).float()[:, None]
    x, y = numbers[:1500], numbers[:1500] ** 3
    inputs = scaled(numbers, x) if fixed else numbers
    targets = scaled(numbers**3, y) if fixed else numbers**3
    model = nn.Sequential(nn.Linear(1, 50), nn.ReLU(), nn.Linear(50, 1))
    return Parts(
        model=model,
        data=(inputs[:1500], targets[:1500]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(inputs[1500:], targets[1500:]),
        constant=0.0,
        epochs=40,
        batch_size=50,
    )


@programs.supervised(
    faults.NO_ACTIVATION.mildly(),
    "forum: three layers cannot find the second largest of five numbers, the loss stops at 0.4",
)
def second_largest(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    numbers = torch.randn(4500, 5)
    second = numbers.sort(1).values[:, 3:4]
    layers: list[nn.Module] = [nn.Linear(5, 64), nn.Linear(64, 64), nn.Linear(64, 1)]
    if fixed:
        layers = [layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]]
    model = nn.Sequential(*layers)
    return Parts(
        model=model,
        data=(numbers[:3000], second[:3000]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(numbers[3000:], second[3000:]),
        constant=0.0,
        epochs=25,
        batch_size=64,
    )


def concrete(seed: int, count: int = 1500) -> Split:
    """Return mixtures of concrete and how strong they are, scaled to a deviation of 1."""
    rng = default_rng(seed)
    cement, water = rng.uniform(150, 500, count), rng.uniform(140, 220, count)
    ash, days = rng.uniform(0, 180, count), rng.choice([3, 7, 14, 28, 56, 90], count)
    sand, mixer = rng.uniform(600, 950, count), rng.uniform(0, 20, count)
    binding = (cement + 0.4 * ash) / water
    strong = 19 * binding * np.log(days + 1) / 3.4 - 0.25 * (mixer - 9) ** 2
    strong = strong + 0.02 * sand + rng.normal(0, 2.5, count)
    strong = (strong - strong.mean()) / strong.std()
    x = np.stack([cement, water, ash, days, sand, mixer], 1).astype(np.float32)
    return split(x, strong[:, None], count // 3)


class Strength(nn.Module):
    def __init__(self, rectify: bool) -> None:
        super().__init__()
        self.hidden = nn.Linear(6, 80)
        self.hidden2 = nn.Linear(80, 40)
        self.out = nn.Linear(40, 1)
        self.rectify = rectify

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(self.hidden(x))
        x = F.gelu(self.hidden2(x))
        strength: Tensor = self.out(x)
        return F.relu(strength) if self.rectify else strength


@programs.supervised(
    [faults.RELU_OUTPUT, faults.LOW_RATE.mildly()],
    "Q&A: strength of concrete, weak mixtures all get exactly 0, and 100 more epochs help a little",
)
def strength_of_concrete(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = concrete(seed).standardised()
    model = Strength(rectify=not fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05 if fixed else 0.001, momentum=0.9),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
        batch_size=50,
        validation=(data.x_test, data.y_test),
    )


def parcels(seed: int, count: int = 2400) -> Split:
    """Return parcels and their hours on the road, scaled; long ways are less certain."""
    rng = default_rng(seed)
    way, weight = rng.gamma(3, 90, count), rng.lognormal(1, 0.8, count)
    stops, night = rng.poisson(4, count), rng.random(count) < 0.4
    hours = way / 60 * (1 - 0.35 * night) + 0.6 * stops + 0.2 * np.sqrt(weight)
    hours = hours + rng.normal(0, 1, count) * (0.1 + way / 500)
    x = np.stack([way, np.log(weight), stops, night], 1).astype(np.float32)
    return split(x, ((hours - hours.mean()) / hours.std())[:, None], count // 3)


class MeanAndVariance(nn.Module):
    """Two columns: a mean, and a variance that must be positive."""

    def __init__(self, smooth: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 2))
        self.smooth = smooth

    def forward(self, x: Tensor) -> Tensor:
        mean, spread = self.body(x).chunk(2, 1)
        variance = F.softplus(spread) + 1e-3 if self.smooth else F.relu(spread)
        return torch.cat([mean, variance], 1)


def gauss(outputs: Tensor, hours: Tensor) -> Tensor:
    mean, variance = outputs.chunk(2, 1)
    return (torch.log(variance) + (hours - mean) ** 2 / variance).mean() / 2


def of_means(inputs: Tensor, targets: Tensor) -> Score:
    """Return R² of the first column."""
    return lambda model: r_squared(predict(model, inputs)[:, 0].nan_to_num(1e9), targets)


@programs.supervised(
    faults.NO_EPSILON,
    "forum: own Gaussian likelihood is nan; the variance comes from a ReLU and is 0 for some",
)
def hours_of_parcels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = parcels(seed).standardised()
    model = MeanAndVariance(smooth=bool(fixed))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=gauss,
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=of_means(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=64,
    )


def flats(seed: int, count: int = 1800) -> Split:
    """Return flats to let and their rents, scaled."""
    rng = default_rng(seed)
    area, floor = rng.gamma(9, 8, count), rng.integers(0, 9, count)
    ring, lift = rng.integers(1, 6, count), rng.random(count) < 0.5
    rent = 11 * area / ring**0.4 + 140 * (rng.random(count) < 0.5)
    rent = rent - 45 * floor * (~lift) + 20 * floor * lift + rng.normal(0, 35, count)
    x = np.stack([area, floor, ring, lift], 1).astype(np.float32)
    return split(x, (rent - rent.mean()) / rent.std(), count // 3)


@programs.script(
    [faults.BROADCAST, faults.DROPOUT.mildly()],
    "Q&A: all rents come out the same; outputs (64, 1), targets (64,), and dropout of 0.9",
)
def rents_of_flats(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = flats(seed).standardised()
    targets = data.y[:, None] if fixed else data.y
    p = 0.05 if fixed else 0.9
    model = nn.Sequential(
        *(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(p)),
        nn.Linear(64, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    doctor = watch(model, optimizer)
    for _ in range(40):
        order = torch.randperm(len(targets))
        for rows in order.split(64):
            loss = F.smooth_l1_loss(model(data.x[rows]), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return explained(data.x_test, data.y_test)(model)
