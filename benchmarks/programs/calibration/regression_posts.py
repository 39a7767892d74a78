"""Numbers predicted from tables: passengers, bearings, settings, firing times and ranges."""

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


def ferries(seed: int, count: int = 3000) -> Split:
    """Return crossings of a ferry, standardised, and how many passengers were on board."""
    rng = default_rng(seed)
    hour, day = rng.uniform(5, 23, count), rng.integers(0, 7, count)
    warmth, rain = rng.normal(14, 7, count), rng.exponential(2, count)
    weekend = day >= 5
    level = 900 + 60 * warmth - 90 * rain + 700 * weekend
    rush = 600 * np.exp(-np.square((hour - 8) / 1.5)) + 800 * np.exp(-np.square((hour - 17) / 2))
    people = np.maximum(0, level + rush * np.where(weekend, 0.3, 1) + rng.normal(0, 60, count))
    x = np.stack([hour, day, warmth, rain, weekend], 1).astype(np.float32)
    return split(x, people.astype(np.float32), count // 3).standardised()


class Passengers(nn.Module):
    """Two hidden layers and one number."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(5, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


@programs.supervised(
    [faults.RAW_TARGETS, faults.BROADCAST],
    "forum: a warning about the target size was ignored; every crossing gets the same passengers",
)
def ferry_passengers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = ferries(seed)
    middle, spread = (data.y.mean(), data.y.std()) if fixed else (0.0, 1.0)
    people, people_test = (data.y - middle) / spread, (data.y_test - middle) / spread
    model = Passengers()
    return Parts(
        model=model,
        data=(data.x, people.unsqueeze(1) if fixed else people),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, people_test),
        constant=0.0,
        epochs=45,
        batch_size=40,
    )


def pressures(count: int) -> tuple[Tensor, Tensor]:
    """Return pressures around a mast and the direction of the wind, as a vector of length one."""
    own = torch.Generator().manual_seed(8)
    places = torch.randn(7, 2, generator=own)
    bearing = 2 * torch.pi * torch.rand(count)
    wind = torch.stack([bearing.cos(), bearing.sin()], 1)
    felt = torch.tanh(wind @ places.T + 0.4 * torch.randn(count, 1)) + 0.15 * torch.randn(count, 7)
    return felt, wind


def along(inputs: Tensor, wind: Tensor) -> Score:
    """Return how well the answers point along the wind: 1 is perfect, -1 is backwards."""

    def score(model: nn.Module) -> float:
        likeness = F.cosine_similarity(predict(model, inputs), wind)
        return float(likeness.double().mean().nan_to_num(-1.0))

    return score


def bearing_loss(outputs: Tensor, wind: Tensor) -> Tensor:
    return F.cosine_similarity(outputs, wind, dim=1).mean()


def one_minus_likeness(outputs: Tensor, wind: Tensor) -> Tensor:
    return 1 - bearing_loss(outputs, wind)


@programs.supervised(
    faults.WRONG_SIGN,
    "issue: cosine_similarity is minimised as if it were a distance; answers point backwards",
)
def wind_bearings(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    felt, wind = pressures(3000)
    felt = (felt - felt[:2000].mean(0)) / felt[:2000].std(0)
    model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 2))
    return Parts(
        model=model,
        data=(felt[:2000], wind[:2000]),
        loss=one_minus_likeness if fixed else bearing_loss,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        score=along(felt[2000:], wind[2000:]),
        constant=0.0,
        epochs=20,
        batch_size=40,
    )


def cartons(count: int) -> tuple[Tensor, Tensor]:
    """Return cartons and the three settings of a press that fold them best, standardised."""
    x = torch.randn(count, 5)
    settings = torch.stack(
        [
            torch.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1],
            x[:, 1] * x[:, 2] + 0.4 * x[:, 3],
            (x[:, 3] - x[:, 4]).abs() - 0.5 * x[:, 0],
        ],
        1,
    )
    settings = settings + 0.1 * torch.randn(count, 3)
    return x, (settings - settings.mean(0)) / settings.std(0)


def error_of_settings(outputs: Tensor, settings: Tensor) -> Tensor:
    return (outputs - settings).mean(dim=1).square().mean()


@programs.supervised(
    [faults.WRONG_DIMENSION, faults.SMALL.mildly(), faults.HIGH_RATE],
    "Q&A: mean(dim=1) before the square lets errors cancel; four hidden units and AdamW(0.3)",
)
def press_settings(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, settings = cartons(3600)
    width = 64 if fixed else 4
    model = nn.Sequential(
        nn.Linear(5, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3)
    )
    return Parts(
        model=model,
        data=(x[:2800], settings[:2800]),
        loss=F.mse_loss if fixed else error_of_settings,
        optimizer=torch.optim.AdamW(model.parameters(), lr=3e-3 if fixed else 0.3),
        score=explained(x[2800:], settings[2800:]),
        constant=0.0,
        epochs=20,
        batch_size=40,
        validation=(x[2800:], settings[2800:]),
    )


def firings(seed: int, count: int = 2100) -> Split:
    """Return firings of a kiln and the log of the wear of its bricks, standardised."""
    rng = default_rng(seed)
    heat, minutes = rng.normal(1050, 90, count), rng.uniform(60, 420, count)
    mass, moist = rng.gamma(4, 6, count), rng.uniform(0, 0.2, count)
    wear = np.exp((heat - 1050) / 90) + minutes / 200 + 0.03 * mass * (1 + 8 * moist)
    wear = np.log(wear) + rng.normal(0, 0.05, count)
    x = np.stack([heat, minutes, mass, moist], 1).astype(np.float32)
    wear = (wear - wear.mean()) / wear.std()
    return split(x, wear.astype(np.float32)[:, None], 600)


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).pow(2).mean()


@programs.supervised(
    [faults.RAW_INPUTS, faults.BOUNDED_OUTPUT.mildly()],
    "forum: wear of a kiln, inputs in degrees and minutes, and a tanh after the last layer",
)
def kiln_wear(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = firings(seed)
    data = data.standardised() if fixed else data
    layers: list[nn.Module] = [nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU()]
    layers += [nn.Linear(48, 1)] if fixed else [nn.Linear(48, 1), nn.Tanh()]
    model = nn.Sequential(*layers)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=squared,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=50,
    )


def batteries(seed: int, count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return batteries of electric bicycles, and how far they go."""
    rng = default_rng(seed)
    charge, cycles = rng.uniform(300, 800, count), rng.exponential(250, count)
    warmth, load = rng.normal(15, 8, count), rng.normal(95, 15, count)
    far = charge * np.exp(-cycles / 900) * (1 - 0.0008 * np.square(warmth - 22)) / (3 + 0.05 * load)
    x = np.stack([charge, cycles, warmth, load], 1)
    return x.astype(np.float32), (far + rng.normal(0, 2, count)).astype(np.float32)


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: two csv files joined by position after one of them was sorted; R² of 0 on new rows",
    repairable=False,
)
def battery_ranges(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, far = batteries(seed)
    far = (far - far[:1500].mean()) / far[:1500].std()
    data = split(x, far[:, None], 500).standardised()
    ranges = data.y if fixed else data.y.sort(dim=0).values
    model = nn.Sequential(
        nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    return Parts(
        model=model,
        data=(data.x, ranges),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=50,
        validation=(data.x_test, data.y_test),
    )


def orchards(count: int) -> tuple[Tensor, Tensor]:
    """Return orchards and their yields, standardised."""
    x = torch.randn(count, 6)
    tons = x[:, 0] * x[:, 1] + 1.2 * torch.relu(x[:, 2]) + 0.7 * x[:, 3] + 0.1 * torch.randn(count)
    return x, ((tons - tons.mean()) / tons.std()).unsqueeze(1)


class Orchard(nn.Module):
    """A body and a head."""

    def __init__(self, end: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 1), end)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


@programs.script(
    [faults.WRONG_TERM, faults.RELU_OUTPUT.mildly(), faults.NOT_IN_OPTIMIZER.mildly()],
    "issue: own L1 term without a small factor, yields cannot be negative, and Adam gets the head",
)
def orchard_yields(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, tons = orchards(3500)
    model = Orchard(nn.Identity() if fixed else nn.ReLU())
    optimizer = torch.optim.Adam((model if fixed else model.head).parameters(), lr=3e-3)
    doctor = watch(model, optimizer)
    factor = 1e-5 if fixed else 0.1
    for _epoch in range(20):
        for rows in torch.randperm(2800).split(40):
            size = sum(each.abs().sum() for each in model.parameters())
            loss = F.mse_loss(model(x[rows]), tons[rows]) + factor * size
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return r_squared(predict(model, x[2800:]), tons[2800:])
