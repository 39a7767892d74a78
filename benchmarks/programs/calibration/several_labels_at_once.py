"""Several labels at once: symptoms, dishes, games and valves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import frequent_labels, labels_right, predict

programs = ProgramList("calibration", "multi-label")


def patients(seed: int, count: int = 2400) -> Split:
    """Return answers of patients to 16 questions, and which of five illnesses they have."""
    rng = default_rng(seed)
    ill = rng.random((count, 5)) < [0.45, 0.4, 0.35, 0.3, 0.3]
    signs = rng.normal(0, 1, (5, 16)) * (rng.random((5, 16)) < 0.5)
    x = ill @ signs + 0.5 * (ill[:, :1] & ill[:, 1:2]) * rng.normal(0, 1, 16)
    x = x + rng.normal(0, 0.45, x.shape)
    return split(x.astype(np.float32), ill.astype(np.float32), count // 3)


@programs.supervised(
    faults.SOFTMAX_FOR_TAGS,
    "forum: CrossEntropyLoss takes my multi-hot targets without complaint, yet all ills are 'yes'",
)
def ills_of_patients(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = patients(seed).standardised()
    model = nn.Sequential(
        *(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss() if fixed else nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=20,
        batch_size=50,
    )


def dishes(seed: int, count: int = 2400) -> Split:
    """Return dishes as bags of 40 things in them, and which of six allergens they have."""
    rng = default_rng(seed)
    x = (rng.random((count, 40)) < 0.2).astype(np.float32)
    has = rng.random((6, 40)) < 0.12
    has[:, :6] |= np.eye(6, dtype=bool)
    y = (x @ has.T.astype(np.float32) > 0).astype(np.float32)
    wrong = rng.random(y.shape) < 0.02
    return split((x - 0.2) / 0.4, np.where(wrong, 1 - y, y).astype(np.float32), count // 3)


def clamped(outputs: Tensor, labels: Tensor) -> Tensor:
    """Binary cross entropy as it is in a book."""
    p = outputs.clamp(1e-7, 1 - 1e-7)
    return -(labels * p.log() + (1 - labels) * (1 - p).log()).mean()


class Allergens(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.fc1 = nn.Linear(40, 64)
        self.fc2 = nn.Linear(64, 6)
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.last(self.fc2(F.relu(self.fc1(x))))
        return found


@programs.supervised(
    faults.LOGITS_AS_PROBABILITIES,
    "Q&A: own BCE for allergens starts at 7 and comes down slowly; no sigmoid, clamp against nan",
)
def allergens_of_dishes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = dishes(seed)
    model = Allergens(nn.Sigmoid() if fixed else nn.Identity())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=clamped,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=25,
        batch_size=40,
    )


def games(seed: int, count: int = 2700) -> Split:
    """Return how games are played, in 14 numbers, and which of seven genres they are."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 14))
    pull = np.tanh(x @ rng.normal(0, 0.5, (14, 12))) @ rng.normal(0, 1, (12, 7))
    pull += rng.normal(0, 0.25, pull.shape)
    y = (pull > np.quantile(pull, 0.6, axis=0)).astype(np.float32)
    return split(x.astype(np.float32), y, count // 3)


@programs.script(
    [faults.RELU_OUTPUT, faults.LOW_RATE.mildly(), faults.DROPOUT.mildly()],
    "course: no genre is ever found; ReLU after each layer, the last too, SGD with 0.001",
)
def genres_of_games(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = games(seed)
    sizes = [14, 96, 48, 7]
    layers: list[nn.Module] = []
    p = 0.05 if fixed else 0.7
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout(p)]
    layers = layers[:-2] if fixed else layers[:-1]
    model = nn.Sequential(*layers)
    rate = 0.05 if fixed else 0.002
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, nesterov=True)
    criterion = nn.MultiLabelSoftMarginLoss()
    doctor = watch(model, optimizer)
    for _ in range(20):
        model.train()
        for rows in torch.randperm(len(data.x)).split(45):
            optimizer.zero_grad()
            loss = criterion(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        model.eval()
        with torch.no_grad():
            doctor.epoch(val_loss=float(criterion(model(data.x_test), data.y_test)))
    return labels_right(data.x_test, data.y_test)(model)


def valves(seed: int, count: int = 3000) -> Split:
    """Return what is measured at valves, and which of four rare alarms they should raise."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, 9))
    pull = np.stack([x[:, 0] + x[:, 1], x[:, 2] ** 2 - x[:, 3], x[:, 4] * x[:, 5], x[:, 6]], 1)
    pull += 0.5 * x[:, 7:8] + rng.normal(0, 0.2, pull.shape)
    y = (pull > np.quantile(pull, 0.88, axis=0)).astype(np.float32)
    units = np.array([40, 3, 1, 200, 0.1, 8, 1.5, 12, 5])
    return split((x * units + 4 * units).astype(np.float32), y, count // 3)


def both_kinds(inputs: Tensor, labels: Tensor) -> Score:
    """Return the mean share of right answers where a label holds and where it does not."""

    def score(model: nn.Module) -> float:
        right = ((predict(model, inputs) > 0) == (labels > 0.5)).double()
        return float((right[labels > 0.5].mean() + right[labels < 0.5].mean()) / 2)

    return score


@programs.supervised(
    [faults.WEIGHTS_UPSIDE_DOWN, faults.HIGH_RATE.mildly()],
    "issue: alarms of valves are never raised; pos_weight is the share of ones, RMSprop at 0.1",
)
def alarms_of_valves(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = valves(seed).standardised()
    ones = data.y.mean(0)
    weight = (1 - ones) / ones if fixed else ones / (1 - ones)
    rate = 1e-3 if fixed else 0.1
    model = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 4))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(pos_weight=weight),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=rate),
        score=both_kinds(data.x_test, data.y_test),
        constant=0.5,
        epochs=25,
        batch_size=50,
    )
