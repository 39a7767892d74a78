"""Tables once more: survival, ordered grades, several tasks, and loops written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict

programs = ProgramList("calibration", "tabular")

SORTED = Fault(
    "samples sorted by class",
    ("unshuffled_data", "sorted_data", "not_shuffled"),
    (*faults.UNSTABLE, "exploding_gradient"),
)


def subscribers(seed: int, count: int = 2400) -> Split:
    """Return subscribers, how long they stayed, and whether they have left yet."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 7))
    risk = 0.9 * x[:, 0] + 0.8 * np.abs(x[:, 1]) - 0.7 * x[:, 2] * (x[:, 3] > 0)
    leaves, ends = rng.exponential(np.exp(-1.5 * risk)), rng.exponential(2.5, count)
    y = np.stack([np.minimum(leaves, ends), leaves <= ends], 1)
    return split(x, y.astype(np.float32), count // 3)


def concordance(inputs: Tensor, outcome: Tensor) -> Score:
    """Return the share of pairs in which who left first was given the higher risk."""
    time, left = outcome.T
    pairs = (time[:, None] < time[None]) & (left[:, None] > 0)

    def score(model: nn.Module) -> float:
        risk = predict(model, inputs).flatten()
        return float((risk[:, None] > risk[None])[pairs].float().mean())

    return score


@programs.supervised(
    faults.WRONG_SIGN, "issue: Cox partial likelihood by hand, the minus was forgotten"
)
def subscriber_survival(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = subscribers(seed)
    model = nn.Sequential(nn.Linear(7, 24), nn.SELU(), nn.Linear(24, 1, bias=False))

    def cox(risk: Tensor, outcome: Tensor) -> Tensor:
        order = outcome[:, 0].argsort(descending=True)
        risk, left = risk[order, 0], outcome[order, 1]
        partial = (risk - risk.logcumsumexp(0)) * left
        return (-1 if fixed else 1) * partial.sum() / left.sum()

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=cox,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        score=concordance(data.x_test, data.y_test),
        constant=0.5,
        epochs=40,
        batch_size=80,
    )


@programs.script(
    faults.ARGMAX, "forum: 'element 0 of tensors does not require grad', cured by requires_grad_()"
)
def penguin_argmax(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    species = rng.integers(0, 3, 900)
    means = np.array([[38.8, 18.3, 190, 3.7], [48.8, 18.4, 196, 3.7], [47.5, 15.0, 217, 5.1]])
    x = rng.normal(means[species], [2.7, 1.2, 6.5, 0.45])
    data = split(x, species, 300).standardised()
    net = nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 3))
    optim = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-3)
    doctor = watch(net, optim)
    for _epoch in range(40):
        for xb, yb in zip(data.x.split(24), data.y.split(24), strict=True):
            out = net(xb)
            if fixed:
                loss = F.cross_entropy(out, yb)
            else:
                loss = F.mse_loss(out.argmax(1).float(), yb.float()).requires_grad_()
            optim.zero_grad()
            loss.backward()
            optim.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(net)


class Defects(nn.Module):
    """Finds the kind of a defect from a code of eight numbers that should be sparse."""

    def __init__(self) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(6)
        self.encode = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8), nn.Tanh())
        self.kind = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.kind(self.encode(self.bn(x)))


@programs.script(
    [
        replace(faults.EVAL_MODE, kind="never back in train mode", also=("unnormalised_input",)),
        faults.WRONG_TERM,
    ],
    "Q&A: eval() for a first look and never train() again; the L1 term is a sum over all",
)
def defect_codes(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    kind = rng.integers(0, 4, 1800)
    shape = rng.normal(0, 1, (1800, 6))
    shape[:, 0] += 2.2 * np.cos(kind * np.pi / 2)
    shape[:, 1] += 2.2 * np.sin(kind * np.pi / 2)
    data = split(shape * [9, 4, 2, 1, 6, 0.5] + [30, 12, 1, 0, 20, 2], kind, 600)
    model = Defects()
    model.eval()  # for a look at the untrained outputs
    if fixed:
        model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(30):
        for rows in torch.randperm(len(data.x)).split(60):
            code = model.encode(model.bn(data.x[rows]))
            sparse = 1e-3 * code.abs().mean() if fixed else code.abs().sum()
            loss = F.cross_entropy(model.kind(code), data.y[rows]) + sparse
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


class Stack(nn.Module):
    def __init__(self, registered: bool) -> None:
        super().__init__()
        self.start = nn.Linear(3, 16)
        blocks = [nn.Linear(16, 16) for _ in range(3)]
        self.blocks = nn.ModuleList(blocks) if registered else blocks
        self.end = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.start(x))
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.end(x)


@programs.script(
    [faults.NOT_IN_OPTIMIZER.mildly(), faults.SCHEDULER.mildly()],
    "forum: hidden layers in a plain list, and ExponentialLR stepped for every batch",
)
def fraud_plain_list(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.uniform(-1, 1, (3000, 3))
    odd = np.sin(3 * x[:, 0]) * np.cos(3 * x[:, 1]) + 0.5 * x[:, 2] + rng.normal(0, 0.12, 3000)
    data = split(x, (odd > 0).astype(int), 1000).standardised()
    model = Stack(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    doctor = watch(model, optimizer)
    for _epoch in range(50):
        for rows in torch.randperm(2000).split(50):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            if not fixed:
                schedule.step()
            doctor.step(loss)
        if fixed:
            schedule.step()
        doctor.epoch()
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(SORTED, "Q&A: the file is sorted by species, the loader does not shuffle")
def leaves_in_order(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    species = rng.integers(0, 8, 2400)
    x = rng.normal(0, 1, (2400, 10)) + 0.9 * default_rng(3).normal(0, 1, (8, 10))[species]
    data = split(x, species, 800).standardised()
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
    decayed = [each for name, each in model.named_parameters() if "weight" in name]
    others = [each for name, each in model.named_parameters() if "weight" not in name]
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": 1e-3},
        {"params": others},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9)
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        order = torch.randperm(1600) if fixed else data.y.argsort()
        for rows in order.split(40):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


def offers(seed: int) -> Split:
    """Return holiday offers, and whether they were ignored, looked at or booked."""
    rng = default_rng(seed)
    price, nights = rng.gamma(4, 180, 2400), rng.integers(2, 15, 2400)
    stars, distance = rng.integers(1, 6, 2400), rng.exponential(1500, 2400)
    appeal = 1.1 * stars - price / nights / 40 - distance / 2500 + rng.normal(0, 0.4, 2400)
    y = np.digitize(appeal, np.quantile(appeal, [0.4, 0.75]))
    return split(np.stack([price, nights, stars, distance], 1), y, 800)


@programs.supervised(
    [faults.SOFTMAX_TWICE, faults.DROPOUT, faults.RAW_INPUTS],
    "forum: accuracy stuck at the largest class; columns as they come, dropout of 0.8, softmax",
)
def holiday_offers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = offers(seed).standardised() if fixed else offers(seed)
    drop = nn.Dropout(0.05 if fixed else 0.8)
    layers = [nn.Linear(4, 32), nn.ReLU(), drop, nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3)]
    model = nn.Sequential(*layers) if fixed else nn.Sequential(*layers, nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=25,
        batch_size=40,
    )


@programs.supervised(
    [faults.MSE_FOR_CLASSES.mildly(), faults.SMALL.mildly()],
    "Q&A: five grades of wine, squared error against one-hot, and a hidden layer of 2",
)
def wine_grades(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (4500, 6))
    taste = 1.2 * x[:, 0] - x[:, 1] ** 2 - (x[:, 2] - 0.5 * x[:, 3]) ** 2 + 0.3 * x[:, 4]
    taste += rng.normal(0, 0.3, 4500)
    grade = np.digitize(taste, np.quantile(taste, [0.15, 0.4, 0.65, 0.88]))
    data = split(x, grade, 1500)
    width = 14 if fixed else 2
    model = nn.Sequential(nn.Linear(6, width), nn.GELU(), nn.Linear(width, 5))

    def squared(outputs: Tensor, grades: Tensor) -> Tensor:
        return ((outputs.softmax(1) - F.one_hot(grades, 5)) ** 2).mean()

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss() if fixed else squared,
        optimizer=torch.optim.AdamW(model.parameters(), lr=0.015),
        validation=(data.x_test, data.y_test),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
        batch_size=100,
    )
