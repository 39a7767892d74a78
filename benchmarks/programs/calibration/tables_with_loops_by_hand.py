"""Tables of pumps, blood, soil, tyres and cheese, most with loops that people wrote themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("calibration", "tabular")

RARE = Fault("a rare class without weights", ("class_imbalance",), ("overfitting",))


def pumps(seed: int, count: int = 4000) -> Split:
    """Return pumps, of which 4 % fail within a week."""
    rng = default_rng(seed)
    heat, shake = rng.normal(61, 7, count), rng.gamma(3, 0.6, count)
    pressure, age = rng.normal(4.2, 0.5, count), rng.exponential(900, count)
    load, served = rng.uniform(0.2, 1, count), rng.exponential(60, count)
    risk = 0.09 * (heat - 61) * load + 0.7 * shake + np.abs(pressure - 4.2)
    risk += 0.0006 * age + 0.008 * served + rng.normal(0, 0.5, count)
    x = np.stack([heat, shake, pressure, age, load, served], 1).astype(np.float32)
    return split(x, (risk > np.quantile(risk, 0.96)).astype(np.float32), count // 2)


@programs.script(RARE.mildly(), "Q&A: accuracy of 97 %, and hardly any failing pump is found")
def failing_pumps(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = pumps(seed).standardised()
    x, y = data.x, data.y[:, None]
    model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    rare = (1 - y).sum() / y.sum() if fixed else torch.tensor(1.0)
    doctor = watch(model, optimizer)
    for _ in range(25):
        order = torch.randperm(len(x))
        for rows in order.split(80):
            loss = F.binary_cross_entropy_with_logits(model(x[rows]), y[rows], pos_weight=rare)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    found = (predict(model, data.x_test)[:, 0] > 0).double()
    fails = data.y_test > 0.5
    return float((found[fails].mean() + 1 - found[~fails].mean()) / 2)


def blood(seed: int, count: int = 2400) -> Split:
    """Return laboratory values of patients, some missing, and which of three illnesses it was."""
    rng = default_rng(seed)
    ill = rng.integers(0, 3, count)
    iron = rng.normal(np.array([40, 110, 90])[ill], 22)
    white = rng.lognormal(np.array([1.9, 1.9, 2.5])[ill], 0.25)
    sugar = rng.normal(np.array([95, 132, 98])[ill], 18)
    salt, fat = rng.normal(140, 3, count), rng.normal(190, 35, count)
    x = np.stack([iron, white, sugar, salt, fat], 1).astype(np.float32)
    x[rng.random(count) < 0.06, 0] = np.nan
    return split(x, ill, count // 3)


@programs.supervised(
    faults.NAN_INPUTS, "forum: the loss is nan from the first epoch; ferritin was not always taken"
)
def blood_values(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = blood(seed)
    usual = data.x.nanmedian(0).values
    if fixed:
        data = replace(data, x=torch.where(data.x.isnan(), usual, data.x))
    held_out = torch.where(data.x_test.isnan(), usual, data.x_test)
    mean = data.x.nanmean(0)
    spread = (data.x - mean).square().nanmean(0).sqrt()
    model = nn.Sequential(
        *(nn.Linear(5, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 3))
    )
    return Parts(
        model=model,
        data=((data.x - mean) / spread, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9),
        score=accuracy((held_out - mean) / spread, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=50,
    )


def soils(seed: int, count: int = 1800) -> Split:
    """Return what is in samples of soil, and which of six kinds it is."""
    rng = default_rng(seed)
    kind = rng.integers(0, 6, count)
    x = rng.normal(0, 1, (6, 9))[kind] * [30, 8, 1, 0.2, 5, 5, 2, 60, 0.1]
    x = x + rng.normal(0, 0.55, x.shape) * [30, 8, 1, 0.2, 5, 5, 2, 60, 0.1]
    return split(x.astype(np.float32), kind, count // 3)


@programs.script(
    faults.ARGMAX,
    "Q&A: 'does not require grad' went away with requires_grad_(), nothing is learned",
)
def kinds_of_soil(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = soils(seed).standardised()
    model = nn.Sequential(nn.Linear(9, 50), nn.ReLU(), nn.Linear(50, 6))
    criterion = nn.CrossEntropyLoss() if fixed else nn.MSELoss()
    argmax = not fixed
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer)
    for _ in range(25):
        for i in range(0, len(data.x), 40):
            inputs, kinds = data.x[i : i + 40], data.y[i : i + 40]
            outputs = model(inputs)
            if argmax:
                outputs, kinds = outputs.argmax(1).float().requires_grad_(), kinds.float()
            optimizer.zero_grad()
            loss = criterion(outputs, kinds)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return right_share(predict(model, data.x_test), data.y_test)


def tyres(seed: int, count: int = 3900) -> Split:
    """Return tests of tyres, and whether they are worn by the road, the load or the driver."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 8))
    road = x[:, 0] * x[:, 1] + x[:, 2]
    load = np.abs(x[:, 3]) + 0.7 * x[:, 4] - 0.8
    driver = np.sin(2 * x[:, 5]) + x[:, 6]
    cause = np.stack([road, load, driver], 1) + rng.normal(0, 0.2, (count, 3))
    x = x * [20, 3, 1, 400, 0.2, 1, 9, 2] + [80, 12, 0, 1500, 0.5, 0, 30, 7]
    return split(x.astype(np.float32), cause.argmax(1), count // 3)


class Tyre(nn.Module):
    """What wears a tyre."""

    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.l1 = nn.Linear(8, 100)
        self.l2 = nn.Linear(100, 100)
        self.l3 = nn.Linear(100, 3)
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.l1(x))
        x = torch.relu(self.l2(x))
        answers: Tensor = self.last(self.l3(x))
        return answers


@programs.script(
    [faults.SOFTMAX_TWICE.mildly(), faults.NO_ZERO_GRAD],
    "Q&A: a first loop by hand; the loss goes down for an epoch and then up to 1.2 for good",
)
def worn_tyres(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = tyres(seed).standardised()
    model = Tyre(nn.Identity() if fixed else nn.Softmax(dim=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
    clear = bool(fixed)
    doctor = watch(model, optimizer)
    for _ in range(25):
        for rows in torch.randperm(len(data.x)).split(32):
            if clear:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(model, data.x_test), data.y_test)


def cheeses(seed: int, count: int = 1500) -> Split:
    """Return measurements of cheese, and which of five kinds it is, by the alphabet."""
    rng = default_rng(seed)
    kind, weeks = rng.integers(0, 5, count), rng.uniform(0, 20, count)
    wet = np.array([37, 52, 41, 55, 46])[kind] * np.exp(-weeks / 80)
    acid = np.array([5.3, 4.7, 5.6, 5.2, 4.8])[kind] + 0.01 * weeks
    salt = np.array([1.7, 2.1, 0.8, 1.6, 3.2])[kind] + 0.03 * weeks
    fat = np.array([33, 24, 31, 28, 30])[kind]
    x = np.stack([wet, acid, salt, fat], 1) + rng.normal(0, 1, (count, 4)) * [2, 0.2, 0.3, 2.5]
    return split(x.astype(np.float32), kind, count // 3)


@programs.script(
    [faults.CLASS_NUMBERS.mildly(), faults.CLIPPING],
    "course: the model answers 2 for every cheese; MSELoss on numbers, and clipped grads",
)
def kinds_of_cheese(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = cheeses(seed).standardised()
    wide = 5 if fixed else 1
    model = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 24), nn.Tanh())
    model.append(nn.Linear(24, wide))
    limit = 5.0 if fixed else 0.003
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    doctor = watch(model, optimizer)
    for _ in range(50):
        for rows in torch.randperm(len(data.x)).split(50):
            outputs, kinds = model(data.x[rows]), data.y[rows]
            if wide == 1:
                loss = F.mse_loss(outputs.squeeze(1), kinds.float())
            else:
                loss = F.cross_entropy(outputs, kinds)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), limit)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(model, data.x_test), data.y_test)
