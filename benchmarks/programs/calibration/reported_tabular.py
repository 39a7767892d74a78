"""Classes from tables, trained by the usual loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score
from benchmarks.programs.scores import (
    accuracy,
    frequent_labels,
    labels_right,
    most_frequent,
    predict,
)

programs = ProgramList("calibration", "tabular")


def beans(seed: int, count: int = 2400) -> Split:
    """Return the measurements of dry beans of five kinds, some of them rare."""
    rng = default_rng(seed)
    kind = rng.choice(5, count, p=[0.4, 0.25, 0.15, 0.12, 0.08])
    length = np.array([410, 350, 310, 500, 280])[kind] * rng.lognormal(0, 0.09, count)
    width = length * np.array([0.56, 0.70, 0.84, 0.62, 0.78])[kind] * rng.lognormal(0, 0.07, count)
    area, edge = 0.78 * length * width, 1.6 * (length + width)
    noisy = [each * rng.lognormal(0, 0.02, count) for each in (area, edge)]
    x = np.stack([length, width, *noisy, rng.normal(0.5 * (kind % 2), 0.4)], 1)
    return split(x.astype(np.float32), kind, count // 3)


class BeanNet(nn.Module):
    def __init__(self, dim: int, scale: float) -> None:
        super().__init__()
        self.dim, self.scale = dim, scale
        self.fc1 = nn.Linear(5, 24)
        self.fc2 = nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.fc1(x))
        return F.log_softmax(self.fc2(x) / self.scale, dim=self.dim)


@programs.supervised(
    [faults.SOFTMAX_OVER_BATCH.mildly(), faults.TEMPERATURE.mildly()],
    "forum: log_softmax with dim=0, and a temperature left over from distillation",
)
def bean_kinds(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = beans(seed).standardised()
    model = BeanNet(1, 1.0) if fixed else BeanNet(0, 100.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=4e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
        batch_size=40,
    )


def loans(seed: int, count: int = 3000) -> Split:
    """Return applicants for a loan, of whom 30 % do not pay it back."""
    rng = default_rng(seed)
    income, debt = rng.lognormal(7.9, 0.4, count), rng.gamma(2, 4000, count)
    late, years = rng.poisson(0.8, count), rng.exponential(6, count)
    region = rng.integers(0, 4, count)
    strain = np.log(debt / income) + 0.7 * late - 0.12 * years
    strain += np.array([0.0, 0.8, -0.6, 0.2])[region] + 1.2 * (late > 1) * (years < 3)
    bad = strain + rng.normal(0, 0.35, count) > np.quantile(strain, 0.7)
    columns = np.stack([np.log(income), np.log1p(debt), late, years], 1)
    return split(np.c_[columns, np.eye(4)[region]], bad.astype(np.float32)[:, None], count // 3)


@programs.supervised(
    [faults.SIGMOID_TWICE.mildly(), faults.DECAY.mildly()],
    "Q&A: my scores never leave 0.5 to 0.7; sigmoid in forward, weight_decay=0.012",
)
def loan_default(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = loans(seed).standardised()
    body = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 16), nn.SiLU())
    head = nn.Sequential(nn.Linear(16, 1))
    if not fixed:
        head.append(nn.Sigmoid())
    model = nn.Sequential(body, head)
    groups: list[dict[str, Any]] = [
        {"params": body.parameters()},
        {"params": head.parameters(), "lr": 1e-3},
    ]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(groups, lr=2e-3, weight_decay=1e-5 if fixed else 0.012),
        score=accuracy(data.x_test, data.y_test[:, 0].long()),
        constant=most_frequent(data.y[:, 0].long(), data.y_test[:, 0].long()),
        epochs=25,
        batch_size=50,
    )


def symptoms(seed: int, count: int = 2400) -> Split:
    """Return blood values and which of seven conditions a patient has, often several."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 12))
    causes = default_rng(5).normal(0, 1, (12, 7)) * (default_rng(6).random((12, 7)) < 0.4)
    pull = x @ causes + 0.8 * np.abs(x[:, :7]) + rng.normal(0, 0.4, (count, 7))
    return split(x, (pull > 0.9).astype(np.float32), count // 3)


@programs.supervised(
    faults.SOFTMAX_FOR_TAGS, "issue: with two diagnoses the model gives each one half"
)
def conditions(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = symptoms(seed)
    last: nn.Module = nn.Sigmoid() if fixed else nn.Softmax(dim=-1)
    model = nn.Sequential(
        nn.Linear(12, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Dropout(0.1), nn.Linear(40, 7), last
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=3e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=30,
        batch_size=64,
    )


def shards(seed: int, count: int = 3000) -> Split:
    """Return the refraction and oxides of pieces of glass of five kinds, in no order."""
    rng = default_rng(seed)
    kind = rng.integers(0, 5, count)
    angle = 2 * np.pi * kind / 5 * 2 + rng.normal(0, 0.4, count)
    radius = np.array([1.0, 2.0, 1.1, 0.3, 2.1])[kind] + rng.normal(0, 0.15, count)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return split(np.c_[x, rng.normal(0, 1, (count, 3))], kind, count // 3)


@programs.supervised(
    [faults.CLASS_NUMBERS, faults.NO_ACTIVATION],
    "Q&A: predict the kind of glass 0 to 4 with MSELoss and three Linear layers",
)
def glass_kinds(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = shards(seed).standardised()
    act = nn.Tanh if fixed else nn.Identity
    model = nn.Sequential(
        nn.Linear(5, 30), act(), nn.Linear(30, 15), act(), nn.Linear(15, 5 if fixed else 1)
    )
    return Parts(
        model=model,
        data=(data.x, data.y if fixed else data.y[:, None].float()),
        loss=nn.CrossEntropyLoss() if fixed else nn.MSELoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
    )


@programs.supervised(
    faults.LABELS_FROM_ONE, "forum: negative BCE loss; the file codes the outcome as 1 and 2"
)
def after_surgery(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    age, nodes = rng.normal(55, 11, 1500), rng.poisson(rng.gamma(1.0, 4.0, 1500))
    stage = rng.integers(1, 4, 1500)
    risk = 0.05 * (age - 52) + 0.5 * nodes - 2.4 + 0.8 * (stage - 2) + rng.logistic(0, 0.3, 1500)
    coded = 1 + (risk > 0)  # 1 survived, 2 did not
    data = split(np.stack([age, np.sqrt(nodes), stage], 1), coded - 1, 500).standardised()
    model = nn.Sequential(nn.Linear(3, 12), nn.ELU(), nn.Linear(12, 1), nn.Flatten(0))
    return Parts(
        model=model,
        data=(data.x, data.y.float() + (0 if fixed else 1)),
        loss=F.binary_cross_entropy_with_logits,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
        batch_size=25,
    )


def recall(inputs: Tensor, labels: Tensor) -> Score:
    """Return the mean share of right answers of both classes, for logits."""

    def score(model: nn.Module) -> float:
        found = predict(model, inputs) > 0
        return float(found[labels > 0].float().mean() + (~found[labels < 1]).float().mean()) / 2

    return score


@programs.supervised(
    [faults.WEIGHTS_UPSIDE_DOWN, faults.DEAD_RELU.mildly()],
    "forum: pos_weight is positives over negatives; the biases start at -2",
)
def pump_failures(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (6000, 6))
    wear = np.maximum(x[:, 0], x[:, 1]) + 0.7 * x[:, 2] ** 2 + rng.normal(0, 0.3, 6000)
    data = split(x, (wear > 2.2).astype(np.float32)[:, None], 2000)
    first = nn.Linear(6, 12)
    if not fixed:
        nn.init.constant_(first.bias, -2.0)
    model = nn.Sequential(first, nn.ReLU(), nn.Linear(12, 1))
    rare = data.y.mean()
    weight = (1 - rare) / rare if fixed else rare / (1 - rare)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(pos_weight=weight),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        score=recall(data.x_test, data.y_test),
        constant=0.5,
        epochs=30,
        batch_size=100,
    )
