"""Tables again, where the optimizer, the model or the loop is wrong."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.tabular import Churn, scored
from benchmarks.programs.data import bundled, customers, rings
from benchmarks.programs.program import Parts, ProgramList

programs = ProgramList("calibration", "tabular")


def zero_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.weight)
        nn.init.zeros_(module.bias)


@programs.supervised(faults.ZERO_START, "Q&A: own init function sets every weight to zero")
def churn_zero_start(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    model = Churn(nn.Identity())
    if not fixed:
        model.apply(zero_weights)
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=30,
        **scored(data),
    )


@programs.supervised(faults.DEEP_SIGMOID, "forum: the more sigmoid layers, the worse it gets")
def rings_deep_sigmoid(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rings(seed)
    layers: list[nn.Module] = [nn.Linear(5, 32)]
    for _ in range(6):
        layers += [nn.ReLU() if fixed else nn.Sigmoid(), nn.Linear(32, 32)]
    model = nn.Sequential(*layers, nn.ReLU() if fixed else nn.Sigmoid(), nn.Linear(32, 3))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=25,
        **scored(data),
    )


@programs.supervised(faults.NO_ACTIVATION, "Q&A: a deep network that is no better than a line")
def rings_no_activation(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rings(seed)
    between = nn.ReLU if fixed else nn.Identity
    model = nn.Sequential(
        nn.Linear(5, 64), between(), nn.Linear(64, 64), between(), nn.Linear(64, 3)
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=30,
        **scored(data),
    )


class Plain(nn.Module):
    """Layers as written by hand: `forward` forgets the activation."""

    def __init__(self, width: int, activate: bool) -> None:
        super().__init__()
        self.hidden = nn.Linear(5, width)
        self.out = nn.Linear(width, 3)
        self.activate = activate

    def forward(self, x: Tensor) -> Tensor:
        h = self.hidden(x)
        return self.out(F.relu(h) if self.activate else h)


@programs.supervised(
    [faults.NO_ACTIVATION, faults.HIGH_RATE], "forum: forgot F.relu in forward, and SGD with lr=5"
)
def rings_no_activation_high_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rings(seed)
    model = Plain(64, fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.2 if fixed else 5.0),
        epochs=30,
        **scored(data),
    )


@programs.supervised(
    faults.SMALL.mildly(), "DeepCrime: fewer neurons in a layer; a hidden layer of 2"
)
def rings_two_units(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rings(seed)
    model = Plain(64 if fixed else 2, activate=True)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        epochs=30,
        **scored(data),
    )


@programs.supervised(faults.HIGH_RATE.mildly(), "forum: Adam with lr=0.1, accuracy jumps about")
def pen_strokes_adam_100(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
    for _ in range(2):
        model.extend([nn.Linear(128, 128), nn.ReLU()])
    model.append(nn.Linear(128, 10))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.04),
        epochs=30,
        **scored(data),
    )


@programs.supervised(faults.DECAY, "DeepCrime: add weights regularisation; weight_decay=10")
def churn_weight_decay(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    model = Churn(nn.Identity())
    decay = 1e-4 if fixed else 10.0
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=decay),
        epochs=30,
        **scored(data),
    )


@programs.supervised(
    [faults.DROPOUT, faults.LOW_RATE.mildly()],
    "DeepCrime: change dropout rate; keep and drop swapped",
)
def rings_dropout(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rings(seed)
    drop = 0.05 if fixed else 0.95
    model = nn.Sequential(
        nn.Linear(5, 64), nn.ReLU(), nn.Dropout(drop), nn.Linear(64, 64), nn.ReLU(),
        nn.Dropout(drop), nn.Linear(64, 3),
    )  # fmt: skip
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 1e-4),
        epochs=30,
        **scored(data),
    )


@programs.supervised(faults.FEW_EPOCHS, "DeepCrime: change the number of epochs; one long epoch")
def pen_strokes_one_epoch(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        epochs=60 if fixed else 3,
        batch_size=16,
        **scored(data),
    )


@programs.supervised(
    faults.BATCH_OF_ONE, "Q&A: one sample at a time with momentum, loss never settles"
)
def wine_one_by_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed).standardised()
    model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.99),
        epochs=20 if not fixed else 100,
        batch_size=16 if fixed else 1,
        **scored(data),
    )
