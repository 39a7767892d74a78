"""A table of gems, wells, coins and a battery: wrong rows, tiny numbers, and large rewards."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent, predict

programs = ProgramList("calibration", "tabular")


def gems(seed: int, count: int = 1800) -> Split:
    """Return measurements of gems, and which of four kinds they are."""
    rng = default_rng(seed)
    kind = rng.integers(0, 4, count)
    bends = rng.normal(np.array([1.77, 1.58, 2.42, 1.64])[kind], 0.07)
    dense = rng.normal(np.array([4.0, 2.7, 3.5, 3.1])[kind], 0.3)
    hard = rng.normal(np.array([9, 7.8, 10, 7.3])[kind], 0.5)
    carat, red = rng.lognormal(0, 0.6, count), rng.random(count)
    x = np.stack([bends, dense, hard, carat, red], 1).astype(np.float32)
    return split(x, kind, count // 3)


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: the loss stays at 1.386; the frame of features was sorted after the labels were taken",
    repairable=False,
)
def gems_sorted(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = gems(seed).standardised()
    x = data.x if fixed else data.x[data.x[:, 3].argsort()]
    model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 4))
    return Parts(
        model=model,
        data=(x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=25,
        batch_size=40,
    )


def wells(seed: int, count: int = 1800) -> Split:
    """Return where wells are and what is in the water, and how much arsenic, scaled."""
    rng = default_rng(seed)
    x = rng.random((count, 6))
    arsenic = np.sin(4 * x[:, 0]) + 1.5 * x[:, 1] * x[:, 2] - (x[:, 3] > 0.6) * x[:, 4]
    arsenic = arsenic + rng.normal(0, 0.1, count)
    arsenic = (arsenic - arsenic.mean()) / arsenic.std()
    return split(x.astype(np.float32), arsenic.astype(np.float32)[:, None], count // 3)


@programs.supervised(
    faults.CONSTANT_INPUTS,
    "Q&A: each well gets the same value; inputs from 0 to 1 are divided by 65535, as for pictures",
    kind="regression",
)
def arsenic_of_wells(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = wells(seed)
    mean, spread = data.x.mean(0), data.x.std(0)
    if not fixed:
        mean, spread = torch.zeros(6), torch.full((6,), 65535.0)
    model = nn.Sequential(
        *(nn.Linear(6, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))
    )
    return Parts(
        model=model,
        data=((data.x - mean) / spread, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9),
        score=explained((data.x_test - mean) / spread, data.y_test),
        constant=0.0,
        epochs=50,
        batch_size=50,
    )


def coins(seed: int, count: int) -> Split:
    """Return what is weighed and measured of coins, and which are fakes."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count + 500, 4))
    odd = x[:, 0] ** 2 + x[:, 1] ** 2 + 0.5 * x[:, 2] + rng.normal(0, 0.15, count + 500)
    return split(x.astype(np.float32), (odd > 1.5).astype(np.float32)[:, None], 500)


@programs.supervised(
    [faults.BATCH_OF_ONE.mildly(), faults.SIGMOID_TWICE.mildly(), faults.SMALL],
    "course: 300 coins, one by one, two hidden units, and sigmoid before BCEWithLogitsLoss",
    kind="tiny data",
)
def coins_one_by_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = coins(seed, 300)
    units = 24 if fixed else 2
    model = nn.Sequential(nn.Linear(4, units), nn.Tanh(), nn.Linear(units, 1))
    if not fixed:
        model.append(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9),
        score=accuracy(data.x_test, data.y_test[:, 0].long()),
        constant=most_frequent(data.y[:, 0].long(), data.y_test[:, 0].long()),
        epochs=25,
        batch_size=20 if fixed else 1,
    )


PRICES = 30 + 14 * torch.sin(2 * torch.pi * (torch.arange(25) - 11) / 24)
PRICES = PRICES + 9 * torch.sin(4 * torch.pi * (torch.arange(25) - 3) / 24)


def battery(hour: Tensor, level: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """Buy (0), wait (1) or sell (2) a piece. Return the next level and the cents."""
    following = (level + 1 - action).clamp(0, 6)
    return following, 100 * PRICES[hour] * (level - following)


def seen(hour: Tensor, level: Tensor) -> Tensor:
    """Return what the network sees of an hour and a level."""
    turn = 2 * torch.pi * hour / 24
    price = (PRICES[hour] - 30) / 12
    return torch.stack([turn.sin(), turn.cos(), hour / 12 - 1, level / 3 - 1, price], -1)


def best_profit() -> float:
    """Return the most that a day can bring, from an empty battery."""
    levels, value = torch.arange(7), torch.zeros(7)
    for hour in range(23, -1, -1):
        choices = []
        for action in range(3):
            after, cents = battery(torch.full((7,), hour), levels, torch.full((7,), action))
            choices.append(cents + value[after])
        value = torch.stack(choices).amax(0)
    return float(value[0])


@programs.script(
    [faults.RAW_TARGETS, faults.NO_ZERO_GRAD],
    "issue: Q-values of a battery are off by thousands; rewards in cents, no zero_grad",
    kind="reinforcement learning",
)
def battery_of_a_house(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    network, target = (
        nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
        for _ in range(2)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    unit = 3000.0 if fixed else 1.0
    clear = bool(fixed)
    doctor = watch(network, optimizer)
    for step in range(2000):
        if step % 50 == 0:
            target.load_state_dict(network.state_dict())
        hour, level, action = (torch.randint(0, top, (96,)) for top in (24, 7, 3))
        after, cents = battery(hour, level, action)
        with torch.no_grad():
            future = target(seen(hour + 1, after)).amax(1) * (hour < 23)
        values = network(seen(hour, level)).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(values, cents / unit + future)
        if clear:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    level, earned = torch.tensor([0]), 0.0
    for number in range(24):
        hour = torch.tensor([number])
        level, cents = battery(hour, level, predict(network, seen(hour, level)).argmax(1))
        earned += float(cents)
    return max(-1.0, earned / best_profit())
