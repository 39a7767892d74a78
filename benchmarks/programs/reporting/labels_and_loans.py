"""Samples with several labels, and networks that were lent by another task."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, frequent_labels, labels_right, most_frequent

programs = ProgramList("reporting", "multi-label")


def tagged(data: Split) -> dict[str, Any]:
    """Return the score of a tagger, and that of a constant answer."""
    return {
        "score": labels_right(data.x_test, data.y_test),
        "constant": frequent_labels(data.y, data.y_test),
    }


# --- ingredients ----------------------------------------------------------------------------------

SHARES = Fault(
    "labels divided by their number", ("bad_targets", "improper_loss"), ("underfitting",)
)


def perfumes(seed: int, count: int = 1500) -> Split:
    """Return spectra of 32 bands and which of 7 oils are in them."""
    rng = default_rng(seed)
    oils = (rng.random((count, 7)) < 0.45).astype(np.float32)
    band = np.arange(32)
    lines = np.exp(-(((band - rng.uniform(2, 30, (7, 1))) / 2.5) ** 2))
    lines += np.exp(-(((band - rng.uniform(2, 30, (7, 1))) / 2.5) ** 2))
    amounts = oils * rng.uniform(0.5, 1.2, oils.shape)
    x = np.tanh(amounts @ lines) + rng.normal(0, 0.08, (count, 32))
    return split(x.astype(np.float32), oils, count // 3)


@programs.supervised(
    SHARES, "Q&A: oils of perfumes; each row of labels divided by its sum as for softmax, then BCE"
)
def oils_of_perfumes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = perfumes(seed).standardised()
    y = data.y if fixed else data.y / data.y.sum(1, keepdim=True).clamp(min=1)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 7))
    return Parts(
        model=model,
        data=(data.x, y),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        epochs=20,
        batch_size=25,
        **tagged(data),
    )


# --- instruments ----------------------------------------------------------------------------------

ZEROS_AND_ONES_AS_INDICES = Fault(
    "a margin loss takes zeros and ones for class numbers", ("improper_loss", "bad_targets")
)


def songs(seed: int, count: int = 1200) -> Split:
    """Return loudness over 24 bands and which of 6 instruments play."""
    rng = default_rng(seed)
    y = rng.random((count, 6)) < 0.4
    timbre = rng.gamma(1.0, 1.0, (6, 24)) * (rng.random((6, 24)) < 0.35)
    strength = y * rng.uniform(0.6, 1.4, y.shape)
    x = np.log1p(strength @ timbre) + rng.normal(0, 0.1, (count, 24))
    return split(x.astype(np.float32), y.astype(np.int64), count // 4)


@programs.supervised(
    [ZEROS_AND_ONES_AS_INDICES, faults.DECAY.mildly()],
    "issue: MultiLabelMarginLoss with multi-hot labels runs, but is wrong; AdamW(weight_decay=20)",
)
def instruments_of_songs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = songs(seed).standardised()
    model = nn.Sequential(nn.Linear(24, 48), nn.Tanh(), nn.Linear(48, 6))
    decay = 0.01 if fixed else 20.0
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MultiLabelSoftMarginLoss() if fixed else nn.MultiLabelMarginLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=decay),
        epochs=20,
        batch_size=30,
        **tagged(data),
    )


# --- services of a hotel --------------------------------------------------------------------------


def hotels(seed: int, count: int = 1300) -> Split:
    """Return words of descriptions as counts, and which of 5 services a hotel has."""
    rng = default_rng(seed)
    y = (rng.random((count, 5)) < 0.5).astype(np.float32)
    rates = 0.15 + 0.9 * (y @ (rng.random((5, 60)) < 0.12))
    negated = rng.random((count, 1)) < 0.25
    x = rng.poisson(rates) * np.where(negated, -1, 1)
    flag = np.where(negated, 1.0, -1.0)
    x = np.concatenate([x, flag], 1).astype(np.float32)
    return split(x, y, count // 3)


@programs.supervised(
    [faults.NO_ACTIVATION, faults.LOW_RATE.mildly()],
    "course: three Linear layers tag hotels; reading left to right or right to left beats them",
)
def services_of_hotels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = hotels(seed)
    between = nn.ReLU if fixed else nn.Identity
    model = nn.Sequential(
        *(nn.Linear(61, 64), between(), nn.Linear(64, 48), between()),
        *(nn.Linear(48, 5), nn.Sigmoid()),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 1e-4),
        epochs=16,
        batch_size=20,
        validation=(data.x_test, data.y_test),
        **tagged(data),
    )


# --- digits, lent ---------------------------------------------------------------------------------


class Body(nn.Module):
    """Convolutions with batch norm, and a head."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten()),
            *(nn.Linear(512, 40), nn.ReLU()),
        )
        self.head = nn.Linear(40, classes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.features(x))
        return out


def lent(seed: int) -> Body:
    """Return a network that knows which digit it is."""
    torch.manual_seed(seed)
    data, net = digits(seed), Body(10)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _epoch in range(3):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(net(data.x[rows] / 8 - 1), data.y[rows]).backward()
            optimizer.step()
    return net


def loops(seed: int, count: int = 240) -> Split:
    """Return few digits and how many closed loops each has."""
    data, of_digit = digits(seed + 30), torch.tensor([1, 0, 0, 0, 1, 0, 1, 0, 2, 1])
    x, y = data.x[:count] / 8 - 1, of_digit[data.y[:count]]
    return Split(x, y, data.x_test / 8 - 1, of_digit[data.y_test])


NOTHING_LOADED = Fault(
    "weights were never loaded, and the body is frozen",
    (*faults.STILL, "refused", "improper_initialisation"),
    ("vanishing_gradient",),
)


@programs.script(
    NOTHING_LOADED,
    "issue: my backbone is useless; keys say 'module.', load_state_dict(strict=False) is silent",
    kind="fine-tuning",
)
def strict_is_false(watch: Watch, fixed: bool, seed: int) -> float:
    saved = {f"module.{key}": value for key, value in lent(seed).features.state_dict().items()}
    data, net = loops(seed), Body(3)
    if fixed:
        saved = {key.removeprefix("module."): value for key, value in saved.items()}
    net.features.load_state_dict(saved, strict=False)
    net.features.requires_grad_(False)
    net.features.eval()
    optimizer = torch.optim.Adam(net.head.parameters(), lr=5e-3)
    doctor = watch(net, optimizer)
    for _epoch in range(20):
        for rows in torch.randperm(len(data.x)).split(16):
            loss = F.cross_entropy(net(data.x[rows]), data.y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(net)


@programs.script(
    [faults.HIGH_RATE, faults.LOW_RATE.mildly()],
    "forum: two parameter groups: the rate of the head went to the body, and the other way round",
    kind="fine-tuning",
)
def rates_in_the_wrong_group(watch: Watch, fixed: bool, seed: int) -> float:
    net, data = lent(seed), loops(seed, 150)
    net.head = nn.Linear(40, 3)
    gentle, fast = 1e-5, 0.1
    rates = (gentle, fast) if fixed else (fast, gentle)
    optimizer = torch.optim.Adam(
        [
            {"params": net.features.parameters(), "lr": rates[0]},
            {"params": net.head.parameters(), "lr": rates[1]},
        ]
    )
    doctor = watch(net, optimizer)
    for _epoch in range(12):
        net.train()
        for rows in torch.randperm(len(data.x)).split(16):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test, data.y_test)(net))
    return accuracy(data.x_test, data.y_test)(net)


# --- an adapter -----------------------------------------------------------------------------------


@programs.supervised(
    [faults.DROPOUT.mildly(), faults.FEW_EPOCHS.mildly()],
    "course: few labelled digits, so the adapter got Dropout(0.95), and one epoch",
    kind="fine-tuning",
)
def adapter_for_few(fixed: bool, seed: int) -> Parts:
    net, data = lent(seed), loops(seed, 400)
    net.features.requires_grad_(False)
    net.head = nn.Linear(40, 3)
    middle = [nn.Linear(40, 40), nn.ReLU(), nn.Dropout(0.1 if fixed else 0.95)]
    model = nn.Sequential(net.features.eval(), *middle, net.head)
    wanted = [each for each in model.parameters() if each.requires_grad]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(wanted, lr=1e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30 if fixed else 1,
        batch_size=16,
    )
