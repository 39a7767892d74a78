"""Tables from threads, continued: networks and loops that people wrote by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "tabular")


def signals(seed: int) -> Split:
    """Return signal strengths of seven routers in four rooms, which follow from the place."""
    rng = default_rng(seed)
    count = 2200
    place, routers = rng.uniform(0, 10, (count, 2)), rng.uniform(0, 10, (7, 2))
    away = np.linalg.norm(place[:, None] - routers[None], axis=2)
    strength = -38 - 22 * np.log10(away + 0.6) + rng.normal(0, 1.5, away.shape)
    room = 2 * (place[:, 0] > 5) + (place[:, 1] > 4.5)
    return split(strength.round().astype(np.float32), room, 700).standardised()


class RoomFinder(nn.Module):
    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        widths = [7, 64, 64, 64, 32, 32]
        self.blocks = nn.ModuleList()
        for into, out in pairwise(widths):
            self.blocks.append(nn.Sequential(nn.Linear(into, out), activation()))
        self.head = nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@programs.supervised(
    faults.DEEP_SIGMOID, "Q&A: rooms by signal strength, the more layers the worse, loss is ln 4"
)
def router_rooms(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = signals(seed)
    model = RoomFinder(nn.ReLU if fixed else nn.Sigmoid)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
        batch_size=40,
    )


def buildings(seed: int) -> Split:
    """Return designs of buildings and the energy to heat and to cool them."""
    rng = default_rng(seed)
    count = 1500
    compact, height = rng.uniform(0.6, 1, count), rng.choice([3.5, 7.0], count)
    glass, wall = rng.choice([0, 0.1, 0.25, 0.4], count), rng.uniform(240, 420, count)
    facing, roof = rng.integers(2, 6, count), rng.uniform(110, 220, count)
    heat = 6 + 2.2 * height * compact**2 + 22 * glass + 0.02 * wall * (height / 7)
    cool = 9 + 1.9 * height * compact + 18 * glass * (1 + 0.3 * (facing == 3)) + 0.01 * roof
    y = np.stack([heat, cool], 1) + rng.normal(0, 0.5, (count, 2))
    y = (y - y.mean(0)) / y.std(0)
    x = np.column_stack([compact, wall, roof, height, facing, glass])
    return split(x.astype(np.float32), y.astype(np.float32), 500).standardised()


@programs.script(
    faults.SHUFFLED_LABELS, "forum: batches by hand, rows are shuffled before every epoch"
)
def heating_and_cooling(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = buildings(seed)
    X, Y = data.x, data.y
    net = nn.Sequential(
        *(nn.Linear(6, 40), nn.LeakyReLU(), nn.Linear(40, 40), nn.LeakyReLU(), nn.Linear(40, 2))
    )
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    criterion = nn.MSELoss()
    doctor = watch(net, opt)
    for _ in range(40):
        order = torch.randperm(len(X))
        rows = X[order]
        answers = Y[order if fixed else torch.randperm(len(Y))]
        for start in range(0, len(rows), 25):
            opt.zero_grad()
            loss = criterion(net(rows[start : start + 25]), answers[start : start + 25])
            loss.backward()
            opt.step()
            doctor.step(loss)
        doctor.epoch()
    return explained(data.x_test, data.y_test)(net)


def turbines(seed: int) -> Split:
    """Return hours of a gas turbine and its power, which is a smooth function with noise."""
    rng = default_rng(seed)
    count = 2500
    x = rng.normal(0, 1, (count, 9))
    x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1]
    power = np.tanh(x[:, 0]) * 2 + x[:, 1] * x[:, 2] - 0.8 * np.abs(x[:, 3]) + 0.6 * x[:, 4]
    power += np.sin(1.5 * x[:, 5]) + rng.normal(0, 0.25, count)
    power = (power - power.mean()) / power.std()
    return split(x.astype(np.float32), power.astype(np.float32), 800)


class Dense(nn.Module):
    def __init__(self, into: int, out: int, small: bool) -> None:
        super().__init__()
        spread = (2 / into) ** 0.5 if small else 1.0
        self.w = nn.Parameter(torch.randn(into, out) * spread)
        self.b = nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.w + self.b


class Turbine(nn.Module):
    def __init__(self, small: bool) -> None:
        super().__init__()
        self.one = Dense(9, 100, small)
        self.two = Dense(100, 50, small)
        self.three = Dense(50, 1, small)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.one(x))
        h = torch.relu(self.two(h))
        return self.three(h).squeeze(1)


@programs.script(
    [faults.LARGE_START, faults.SCHEDULER],
    "Q&A: layers with torch.randn, and scheduler.step() in the inner loop",
)
def turbine_power(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = turbines(seed)
    model = Turbine(small=bool(fixed))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    per_batch = not fixed
    own = torch.Generator().manual_seed(seed)
    train = torch.utils.data.TensorDataset(data.x, data.y)
    loader = torch.utils.data.DataLoader(train, batch_size=32, shuffle=True, generator=own)
    doctor = watch(model, optimizer)
    for _ in range(40):
        for inputs, targets in loader:
            loss = ((model(inputs) - targets) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            doctor.step(loss)
            if per_batch:
                scheduler.step()
        if not per_batch:
            scheduler.step()
        doctor.epoch()
    return explained(data.x_test, data.y_test)(model)


def patients(seed: int) -> Split:
    """Return vital signs at arrival and one of five levels of urgency, which are not even."""
    rng = default_rng(seed)
    count = 3600
    age, pulse = rng.uniform(1, 95, count), rng.normal(88, 20, count)
    pressure, oxygen = rng.normal(130, 22, count), 100 - rng.gamma(1.6, 1.8, count)
    warmth, pain = rng.normal(37.2, 0.8, count), rng.integers(0, 11, count)
    platelets = rng.normal(250_000, 70_000, count)
    worry = np.abs(pulse - 80) / 22 + (96 - oxygen).clip(0) / 2.2 + np.abs(warmth - 37) / 0.9
    worry += np.abs(pressure - 125) / 30 + pain / 6 + (age > 70) * 0.8
    worry += (150_000 - platelets).clip(0) / 40_000 + rng.normal(0, 0.08, count)
    level = np.digitize(worry, np.quantile(worry, [0.12, 0.35, 0.7, 0.9]))
    x = np.column_stack([age, pulse, pressure, oxygen, warmth, pain, platelets])
    return split(x.astype(np.float32), level, 1200)


class Triage(nn.Module):
    def __init__(self, logits: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(7)
        self.net = nn.Sequential(
            *(nn.Linear(7, 96), nn.BatchNorm1d(96), nn.GELU(), nn.Linear(96, 48), nn.GELU()),
            nn.Linear(48, 5),
        )
        self.logits = logits

    def forward(self, x: Tensor) -> Tensor:
        scores = self.net(self.norm(x))
        return scores if self.logits else scores.softmax(dim=-1)


@programs.supervised(
    [faults.SOFTMAX_TWICE.mildly(), faults.EVAL_MODE],
    "forum: batch norm takes the raw columns, and eval() was left from a first look at outputs",
)
def triage_levels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = patients(seed)
    model = Triage(logits=bool(fixed))
    model.eval()
    with torch.no_grad():
        assert model(data.x[:4]).shape == (4, 5)  # the shapes are right
    if fixed:
        model.train()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
        batch_size=48,
    )


def used_cars(seed: int) -> Split:
    """Return used cars and their prices in thousands, centred and scaled as the inputs are."""
    rng = default_rng(seed)
    count = 2600
    age, power = rng.gamma(2.5, 3, count), rng.normal(110, 35, count).clip(45)
    driven = age * rng.gamma(6, 2.2, count)
    brand = rng.integers(0, 4, count)
    automatic, diesel = rng.random(count) < 0.35, rng.random(count) < 0.4
    new = (9 + 0.16 * power) * np.array([0.8, 1.0, 1.25, 1.7])[brand] + 2.5 * automatic
    price = new * np.exp(-0.11 * age) * np.exp(-0.0025 * driven * (1 - 0.4 * diesel))
    price *= rng.lognormal(0, 0.07, count)
    x = np.column_stack([age, power, driven, automatic, diesel, np.eye(4)[brand]])
    price = (price - price.mean()) / price.std()
    return split(x.astype(np.float32), price[:, None].astype(np.float32), 800).standardised()


class CarNet(nn.Module):
    def __init__(self, sizes: list[int], last: bool) -> None:
        super().__init__()
        pairs = pairwise(sizes)
        self.layers = nn.ModuleList(nn.Linear(into, out) for into, out in pairs)
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if self.last or number < len(self.layers) - 1:
                x = torch.relu(x)
        return x


@programs.supervised(
    [faults.RELU_OUTPUT, faults.DECAY.mildly(), faults.LOW_RATE.mildly()],
    "Q&A: half of the car prices come out as the same number",
)
def used_car_prices(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = used_cars(seed)
    net = CarNet([9, 64, 32, 1], last=not fixed)
    decay = 1e-4 if fixed else 0.1
    rate = 0.05 if fixed else 0.0001
    return Parts(
        model=net,
        data=(data.x, data.y),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, weight_decay=decay),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=32,
    )
