"""Tables of numbers and one of a few classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, bundled, customers
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, most_frequent

programs = ProgramList("calibration", "tabular")


def scored(data: Split) -> dict[str, Any]:
    return {
        "score": accuracy(data.x_test, data.y_test),
        "constant": most_frequent(data.y, data.y_test),
    }


@programs.supervised(
    faults.SOFTMAX_TWICE, "forum: loss stuck at 2.2, nn.Softmax before the criterion"
)
def pen_strokes_softmax(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    layers = [nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)]
    model = nn.Sequential(*layers) if fixed else nn.Sequential(*layers, nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        epochs=60,
        batch_size=32,
        **scored(data),
    )


@programs.supervised(
    faults.RAW_INPUTS, "forum: wine data, accuracy stays at 40 % (proline is 1000)"
)
def wine_raw(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed)
    data = data.standardised() if fixed else data
    model = nn.Sequential(
        nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        epochs=200,
        batch_size=16,
        **scored(data),
    )


class Churn(nn.Module):
    """The usual network of a first kernel on customer churn."""

    def __init__(self, end: nn.Module) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 1)
        self.end = end

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.end(self.fc3(x))


@programs.supervised(faults.SOFTMAX_OF_ONE, "Q&A: binary classifier answers 1 for every sample")
def churn_softmax_of_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    model = Churn(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=30,
        batch_size=32,
        **scored(data),
    )


@programs.supervised(
    faults.SIGNED_LABELS.mildly(), "Q&A: cross entropy goes negative; labels are -1 and 1"
)
def churn_signed_labels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    labels = data.y.float() if fixed else 2 * data.y.float() - 1
    model = Churn(nn.Identity())
    return Parts(
        model=model,
        data=(data.x, labels.unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=30,
        batch_size=32,
        **scored(data),
    )


@programs.supervised(
    [faults.SIGMOID_TWICE.mildly(), faults.LOW_RATE],
    "forum: BCEWithLogitsLoss after a sigmoid, and plain SGD with a tiny rate",
)
def cancer_sigmoid_low_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("breast_cancer", seed).standardised()
    layers: list[nn.Module] = [nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 1)]
    model = nn.Sequential(*layers) if fixed else nn.Sequential(*layers, nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1 if fixed else 1e-4),
        epochs=80,
        batch_size=32,
        **scored(data),
    )


def own_binary_cross_entropy(p: Tensor, y: Tensor) -> Tensor:
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


@programs.supervised(
    [faults.NO_EPSILON, faults.RAW_INPUTS], "issue: loss is NaN, log of 0 in a hand-written loss"
)
def cancer_own_loss(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("breast_cancer", seed)
    data = data.standardised() if fixed else data
    layers: list[nn.Module] = [nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 1)]
    model = nn.Sequential(*layers) if fixed else nn.Sequential(*layers, nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss() if fixed else own_binary_cross_entropy,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        epochs=100,
        batch_size=32,
        **scored(data),
    )


def log_likelihood(p: Tensor, y: Tensor) -> Tensor:
    eps = 1e-7
    return (y * torch.log(p + eps) + (1 - y) * torch.log(1 - p + eps)).mean()


@programs.supervised(
    faults.WRONG_SIGN, "Q&A: own cross entropy without the minus, loss gets to -15"
)
def churn_wrong_sign(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    model = Churn(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=(lambda p, y: -log_likelihood(p, y)) if fixed else log_likelihood,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=30,
        batch_size=32,
        **scored(data),
    )


def negative_log(p: Tensor, y: Tensor) -> Tensor:
    return -torch.log(p[torch.arange(len(y)), y] + 1e-8).mean()


@programs.supervised(
    faults.SOFTMAX_OVER_BATCH,
    "Q&A: Softmax(dim=0) with one sample at a time; the loss is 0 at once",
)
def iris_softmax_over_batch(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("iris", seed).standardised()
    layers: list[nn.Module] = [nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3)]
    model = nn.Sequential(*layers, nn.Softmax(dim=1 if fixed else 0))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=negative_log,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        epochs=30,
        batch_size=1,
        **scored(data),
    )


@programs.supervised(
    [faults.RAW_INPUTS, faults.SIGMOID_TWICE.mildly(), faults.HIGH_RATE],
    "forum: a first try on churn data, accuracy does not move from epoch to epoch",
)
def churn_first_try(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed)
    data = data.standardised() if fixed else data
    model = Churn(nn.Identity() if fixed else nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.1),
        epochs=30,
        batch_size=32,
        **scored(data),
    )


@programs.supervised(
    faults.LABELS_FROM_ONE,
    "issue: 'target out of bounds' silenced by clamping labels that start at 1",
    repairable=False,
)
def wine_labels_from_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed).standardised()
    labels = data.y if fixed else (data.y + 1).clamp(max=2)
    model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))
    return Parts(
        model=model,
        data=(data.x, labels),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        epochs=250,
        batch_size=16,
        **scored(data),
    )


@programs.supervised(
    faults.LOGITS_AS_PROBABILITIES, "Q&A: NLLLoss on raw outputs, the loss falls below -1000"
)
def wine_nll_on_logits(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed).standardised()
    layers: list[nn.Module] = [nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3)]
    model = nn.Sequential(*layers, nn.LogSoftmax(dim=1)) if fixed else nn.Sequential(*layers)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        epochs=250,
        batch_size=16,
        **scored(data),
    )
