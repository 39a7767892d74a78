"""Tables of loans, animals, gases and wages, and questions about why they are not learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score
from benchmarks.programs.scores import accuracy, most_frequent, predict

programs = ProgramList("calibration", "tabular")

# Ten layers without batch norm hardly pass on what comes in.
DEEP_EVAL_MODE = replace(faults.EVAL_MODE, also=("vanishing_gradient", "learning_rate_too_low"))


def mean_recall(inputs: Tensor, classes: Tensor) -> Score:
    """Return the mean share of right answers of the two classes: a constant has 0.5."""

    def score(model: nn.Module) -> float:
        outputs = predict(model, inputs).reshape(-1)
        middle = 0.5 if bool(((outputs >= 0) & (outputs <= 1)).all()) else 0.0
        right = ((outputs > middle) == (classes > 0.5)).double()
        return float((right[classes > 0.5].mean() + right[classes < 0.5].mean()) / 2)

    return score


def loans(seed: int, count: int = 3600) -> Split:
    """Return loans, of which 16 % are not paid back."""
    rng = default_rng(seed)
    income, amount = rng.lognormal(10.3, 0.4, count), rng.lognormal(9.2, 0.6, count)
    late, years = rng.poisson(0.8, count), rng.exponential(6, count)
    owner, rate = rng.random(count) < 0.4, rng.uniform(2, 14, count)
    risk = 1.6 * np.log(amount / income) + 1.1 * late - 0.8 * owner * (years > 3)
    risk += 0.25 * np.abs(rate - 6) + rng.normal(0, 0.4, count)
    x = np.stack([income, amount, late, years, owner, rate], 1).astype(np.float32)
    return split(x, (risk > np.quantile(risk, 0.84)).astype(np.float32), count // 3)


def weighted(weights: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the binary cross entropy with a weight for each class."""

    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        each = F.binary_cross_entropy_with_logits(outputs.view(-1), labels, reduction="none")
        return (each * weights[labels.long()]).mean()

    return loss


@programs.supervised(
    [faults.WEIGHTS_UPSIDE_DOWN, faults.SIGMOID_TWICE.mildly()],
    "forum: all answers are 0 with 16 % of ones; the shares are used as weights, and m(out)",
)
def unpaid_loans(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = loans(seed).standardised()
    weights = torch.tensor([0.32, 1.68] if fixed else [1.68, 0.32])
    model = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())
    model.append(nn.Linear(20, 1))
    if not fixed:
        model.append(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=weighted(weights),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=mean_recall(data.x_test, data.y_test),
        constant=0.5,
        epochs=20,
        batch_size=64,
    )


def animals(seed: int, count: int = 4800) -> Split:
    """Return animals of a shelter by breed, colour and age, and which of four ends they had."""
    rng = default_rng(seed)
    breed, colour = rng.integers(0, 60, count), rng.integers(0, 24, count)
    age = rng.exponential(1, count)
    liked = rng.normal(0, 1.2, (60, 4))[breed] + rng.normal(0, 0.8, (24, 4))[colour]
    pull = liked + age[:, None] * [0.5, -0.5, 0.2, -0.2] + rng.normal(0, 0.25, (count, 4))
    x = np.stack([breed, colour, age - 1], 1).astype(np.float32)
    return split(x, pull.argmax(1), count // 4)


class ShelterNet(nn.Module):
    """Entity embeddings, joined with a number, and a head on top of them."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(60, 4), nn.Embedding(24, 4)])
        self.head = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x: Tensor) -> Tensor:
        found = [each(x[:, i].long()) for i, each in enumerate(self.embeddings)]
        logits: Tensor = self.head(torch.cat([*found, x[:, 2:]], 1))
        return logits


@programs.supervised(
    faults.NOT_IN_OPTIMIZER.mildly(),
    "issue: categories help no more than noise; the optimizer has the parameters of the head",
)
def shelter_animals(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = animals(seed)
    model = ShelterNet()
    trained = model.parameters() if fixed else model.head.parameters()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(trained, lr=3e-3, weight_decay=0.01),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=14,
        batch_size=64,
    )


def gases(seed: int, count: int = 2400) -> Split:
    """Return what ten drifting sensors say of four gases at several strengths."""
    rng = default_rng(seed)
    gas, strength = rng.integers(0, 4, count), rng.uniform(0.3, 1, (count, 1))
    answers, warmth = rng.normal(0, 1, (4, 10)), rng.normal(0, 1, (count, 1))
    x = np.tanh(1.5 * answers[gas] * strength) + 0.3 * warmth * rng.normal(0, 1, 10)
    x = 40 + 12 * (x + rng.normal(0, 0.2, x.shape))
    return split(x.astype(np.float32), gas, count // 3)


class DeepTable(nn.Module):
    """Ten narrow layers with batch norm, as in a kernel on tables."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList()
        for size in [features, *[32] * 9]:
            self.blocks.append(nn.Sequential(nn.Linear(size, 32), nn.BatchNorm1d(32), nn.ReLU()))
        self.last = nn.Linear(32, classes)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.last(x)
        return logits


@programs.supervised(
    DEEP_EVAL_MODE,
    "Q&A: a deep table network with batch norm stays at 25 %; eval() came with a prediction script",
)
def gas_sensors_in_eval(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = gases(seed).standardised()
    model = DeepTable(10, 4)
    if not fixed:
        model.eval()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=64,
    )


def wages(seed: int, count: int = 4200) -> Split:
    """Return people of a census and which of four brackets their wage is in."""
    rng = default_rng(seed)
    age, school = rng.uniform(18, 70, count), rng.integers(6, 20, count)
    hours, city = rng.normal(36, 9, count), rng.random(count) < 0.5
    capital, trade = rng.lognormal(4, 1.5, count), rng.integers(0, 3, count)
    wage = 0.25 * school - ((age - 48) / 14) ** 2 + 0.09 * hours + 0.9 * city * (school > 12)
    wage += 0.3 * np.log(capital) + np.array([0, 0.8, -0.8])[trade] + rng.normal(0, 0.35, count)
    places = [age, school, hours, city, np.log(capital), trade == 1, trade == 2]
    bracket = np.searchsorted(np.quantile(wage, [0.25, 0.5, 0.75]), wage)
    return split(np.stack(places, 1).astype(np.float32), bracket, count // 3)


@programs.supervised(
    [faults.SOFTMAX_TWICE.mildly(), faults.DROPOUT.mildly(), faults.LOW_RATE.mildly()],
    "course: wage brackets at 50 %, with F.softmax, dropout of 0.8 and a rate to be safe",
)
def wage_brackets(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = wages(seed).standardised()
    last: nn.Module = nn.Identity() if fixed else nn.Softmax(dim=-1)
    p = 0.1 if fixed else 0.8
    model = nn.Sequential(
        *(nn.Linear(7, 96), nn.ReLU(), nn.Dropout(p), nn.Linear(96, 48), nn.ReLU()),
        *(nn.Linear(48, 4), last),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 1e-4),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=64,
        validation=(data.x_test, data.y_test),
    )
