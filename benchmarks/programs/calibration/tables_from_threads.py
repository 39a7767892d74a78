"""Tables from threads: people's own columns, read from a csv file and given to a small network."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score
from benchmarks.programs.scores import (
    accuracy,
    explained,
    predict,
    r_squared,
)

programs = ProgramList("calibration", "tabular")

NEGATIVE_RATES = Fault(
    "negative rates for a Poisson loss",
    ("improper_output", "improper_loss", "non_finite"),
    (*faults.UNSTABLE, "exploding_gradient"),
)


def towers(seed: int) -> Split:
    """Return half-hours at a flux tower: weather in, carbon uptake and evaporation out."""
    rng = default_rng(seed)
    count = 2100
    light = np.clip(rng.normal(380, 260, count), 0, 1000)
    warmth, dryness = rng.normal(16, 7, count), rng.gamma(2, 5, count)
    soil, leaves = rng.uniform(0.08, 0.42, count), rng.uniform(0.4, 5, count)
    wind = rng.weibull(2, count) * 3
    opened = 1 / (1 + dryness / 14) * (soil / (soil + 0.12))
    comfort = np.exp(-(((warmth - 19) / 11) ** 2))
    uptake = 1.6 * opened * comfort * (1 - np.exp(-0.5 * leaves)) * light / (light + 250)
    loss = -0.22 * light * opened * (0.4 + 0.15 * leaves) - 0.9 * wind * (dryness / 10) * soil * 20
    uptake += rng.normal(0, 0.02, count)
    loss += rng.normal(0, 2.5, count)
    x = np.stack([light, warmth, dryness, soil, leaves, wind], 1).astype(np.float32)
    return split(x, np.stack([uptake, loss], 1).astype(np.float32), 700).standardised()


def each_explained(inputs: Tensor, targets: Tensor) -> Score:
    """Return the mean of R² over the columns of the targets."""

    def score(model: nn.Module) -> float:
        outputs = predict(model, inputs)
        columns = range(targets.shape[1])
        return sum(r_squared(outputs[:, c], targets[:, c]) for c in columns) / len(columns)

    return score


class TowerNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 48)
        self.fc2 = nn.Linear(48, 48)
        self.out = nn.Linear(48, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.fc1(x))
        return self.out(torch.tanh(self.fc2(x)))


@programs.supervised(
    faults.RAW_TARGETS.mildly(),
    "forum: two targets of different size, one is predicted well and the other is not",
)
def flux_towers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = towers(seed)
    mean, spread = data.y.mean(0), data.y.std(0)
    y, y_test = data.y, data.y_test
    if fixed:
        y, y_test = (y - mean) / spread, (y_test - mean) / spread
    net = TowerNet()
    return Parts(
        model=net,
        data=(data.x, y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9),
        score=each_explained(data.x_test, y_test),
        constant=0.0,
        epochs=50,
        batch_size=32,
    )


def shop_days(seed: int) -> Split:
    """Return shop number, weekday, month and three numbers, and the log of the day's sales."""
    rng = default_rng(seed)
    count, shops = 5000, 60
    shop, weekday = rng.integers(0, shops, count), rng.integers(0, 7, count)
    month, promo = rng.integers(0, 12, count), rng.random(count) < 0.4
    rival, warmth = rng.exponential(3, count), rng.normal(0, 1, count)
    size, lift = rng.normal(0, 0.45, shops), rng.normal(0.25, 0.2, shops)
    by_day = np.array([0.25, 0.0, -0.05, -0.1, 0.1, 0.2, -0.5])
    season = np.array([-0.1, -0.2, 0, 0, 0.05, 0.1, 0, -0.05, 0, 0, 0.15, 0.5])
    sales = size[shop] + lift[shop] * promo + by_day[weekday] + season[month]
    sales += -0.3 * np.exp(-rival) + 0.03 * warmth + rng.normal(0, 0.12, count)
    columns = [shop, weekday, month, promo, np.log1p(rival) - 1.1, warmth]
    x = np.stack([np.asarray(each, np.float32) for each in columns], 1)
    sales = (sales - sales.mean()) / sales.std()
    return split(x, sales[:, None].astype(np.float32), 1500)


class ShopNet(nn.Module):
    def __init__(self, registered: bool, drop: float) -> None:
        super().__init__()
        tables = [nn.Embedding(60, 4), nn.Embedding(7, 2), nn.Embedding(12, 2)]
        self.embeds = nn.ModuleList(tables) if registered else tables
        self.drop = nn.Dropout(drop)
        self.fc1 = nn.Linear(8 + 3, 64)
        self.fc2 = nn.Linear(64, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        numbers = x[:, :3].long()
        parts = [table(numbers[:, place]) for place, table in enumerate(self.embeds)]
        h = torch.cat([*parts, x[:, 3:]], 1)
        h = self.drop(torch.relu(self.fc1(h)))
        return self.out(torch.relu(self.fc2(h)))


@programs.supervised(
    [faults.NOT_IN_OPTIMIZER.mildly(), faults.DROPOUT],
    "Q&A: entity embeddings in a list, and a keep probability from an older tutorial",
)
def shop_days_embedded(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = shop_days(seed)
    net = ShopNet(registered=bool(fixed), drop=0.1 if fixed else 0.9)
    return Parts(
        model=net,
        data=(data.x, data.y),
        loss=nn.L1Loss(),
        optimizer=torch.optim.Adam(net.parameters(), lr=2e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=64,
    )


def rentals(seed: int) -> Split:
    """Return hours of a bike rental: the counts are small, and some are zero."""
    rng = default_rng(seed)
    count = 3000
    hour, weekend = rng.integers(0, 24, count), rng.random(count) < 2 / 7
    warmth, rain = rng.normal(14, 8, count), rng.random(count) < 0.2
    wind = rng.gamma(3, 4, count)
    work = np.exp(-(((hour - 8) / 2) ** 2)) + 1.2 * np.exp(-(((hour - 17.5) / 2.5) ** 2))
    free = np.exp(-(((hour - 14) / 4.5) ** 2))
    rate = 1 + 16 * np.where(weekend, free, work) * np.exp(0.04 * (warmth - 14)) * (1 - 0.6 * rain)
    angle = 2 * np.pi * hour / 24
    columns = [np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
    columns += [weekend, (warmth - 14) / 8, rain, (wind - 12) / 7]
    x = np.stack([np.asarray(each, np.float32) for each in columns], 1)
    return split(x, rng.poisson(rate).astype(np.float32), 1000)


class Rentals(nn.Module):
    def __init__(self, positive: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.ELU(), nn.Linear(64, 32), nn.ELU())
        self.rate = nn.Linear(32, 1)
        self.positive = nn.Softplus() if positive else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.positive(self.rate(self.body(x))).squeeze(-1)


@programs.supervised(
    NEGATIVE_RATES, "issue: PoissonNLLLoss(log_input=False) of a plain linear output gives NaN"
)
def bike_rentals(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rentals(seed)
    net = Rentals(positive=bool(fixed))
    return Parts(
        model=net,
        data=(data.x, data.y),
        loss=nn.PoissonNLLLoss(log_input=False),
        optimizer=torch.optim.Adam(net.parameters(), lr=3e-3),
        score=explained(data.x_test[300:], data.y_test[300:]),
        constant=0.0,
        epochs=30,
        batch_size=50,
        validation=(data.x_test[:300], data.y_test[:300]),
    )


def payments(seed: int) -> Split:
    """Return card payments, of which about one in fourteen is a fraud: time and amount are raw."""
    rng = default_rng(seed)
    count = 4200
    hidden = rng.normal(0, 1, (count, 10))
    seconds, amount = rng.uniform(0, 172_800, count), rng.lognormal(3.4, 1.1, count)
    pull = hidden[:, 0] * hidden[:, 1] + 1.1 * hidden[:, 2] - 0.9 * hidden[:, 3]
    pull += 0.8 * (hidden[:, 4] > 1) + 0.4 * np.log(amount / 30) + rng.normal(0, 0.4, count)
    x = np.column_stack([seconds, hidden, amount]).astype(np.float32)
    return split(x, (pull > np.quantile(pull, 0.93)).astype(np.float32), 1800)


def both_classes(inputs: Tensor, labels: Tensor) -> Score:
    """Return the mean of the shares of right answers in the two classes."""

    def score(model: nn.Module) -> float:
        shares = (
            accuracy(inputs[labels == label], labels[labels == label].long())(model)
            for label in (0, 1)
        )
        return sum(shares) / 2

    return score


@programs.supervised(
    [faults.WEIGHTS_UPSIDE_DOWN, faults.RAW_INPUTS],
    "forum: fraud is never predicted, although the loss is weighted",
)
def card_payments(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = payments(seed)
    bad = data.y.sum()
    good = len(data.y) - bad
    weight = good / bad if fixed else bad / good
    if fixed:
        data = data.standardised()
    net = nn.Sequential(
        nn.Linear(12, 48),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(48, 16),
        nn.ReLU(),
        nn.Linear(16, 1),
    )
    return Parts(
        model=net,
        data=(data.x, data.y[:, None]),
        loss=nn.BCEWithLogitsLoss(pos_weight=weight),
        optimizer=torch.optim.Adam(net.parameters(), lr=1e-3),
        score=both_classes(data.x_test, data.y_test),
        constant=0.5,
        epochs=25,
        batch_size=32,
    )
