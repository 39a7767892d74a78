"""Models that have learned something before: new digits, sharper images, other machines."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.calibration.texts_asked_about import about
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("calibration", "fine-tuning")


def prepare(model: nn.Module, x: Tensor, y: Tensor, epochs: int, rate: float = 2e-3) -> None:
    """Train a model on what its makers had."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()


# --- from five digits to the other five -----------------------------------------------------------


class DigitNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten()),
        )
        self.fc = nn.Linear(512, 5)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.fc(self.features(x))
        return logits


def digits_in_two(seed: int) -> tuple[Split, Split]:
    """Return the digits up to 4, and those from 5 on as classes from 0."""
    data = digits(seed)
    x, x_test = (data.x - 4.9) / 6.0, (data.x_test - 4.9) / 6.0
    low, low_test = data.y < 5, data.y_test < 5
    first = Split(x[low], data.y[low], x_test[low_test], data.y_test[low_test])
    other = Split(x[~low], data.y[~low] - 5, x_test[~low_test], data.y_test[~low_test] - 5)
    return first, other


@programs.supervised(
    faults.NOT_IN_OPTIMIZER, "Q&A: I replaced the last layer, but it is as good as a guess"
)
def five_other_digits(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    first, other = digits_in_two(seed)
    model = DigitNet()
    prepare(model, first.x, first.y, 5)
    if fixed:
        model.fc = nn.Linear(512, 5)
    model.features.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if not fixed:
        model.fc = nn.Linear(512, 5)
    return Parts(
        model=model,
        data=(other.x, other.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=optimizer,
        score=accuracy(other.x_test, other.y_test),
        constant=most_frequent(other.y, other.y_test),
        epochs=15,
        batch_size=20,
    )


# --- the same machine in another hall -------------------------------------------------------------


def machines(seed: int, turned: float, count: int = 1500) -> Split:
    """Return vibrations in 16 bands of machines with five states, in one of two halls."""
    rng = default_rng(7)  # both halls have the same machines
    shapes, blur = rng.normal(0, 1, (5, 2, 16)), rng.normal(0, 1, (16, 16)) / 4
    rng = default_rng(seed)
    y = rng.integers(0, 5, count)
    which = rng.integers(0, 2, count)
    x = shapes[y, which] * rng.uniform(0.5, 1.2, (count, 1)) + rng.normal(0, 0.5, (count, 16))
    x = (1 - turned) * x + turned * np.tanh(x @ blur) * 2
    return split(x.astype(np.float32), y, count // 3).standardised()


class Adapted(nn.Module):
    """A frozen layer with a small addition of low rank."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.a = nn.Parameter(torch.zeros(rank, layer.in_features))
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x) + x @ self.a.T @ self.b.T
        return out


@programs.supervised(
    faults.ZERO_START, "issue: LoRA by hand does not change anything; both matrices start at zero"
)
def machines_low_rank(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    old, new = machines(seed, 0.0), machines(seed + 100, 1.0)
    base = [nn.Linear(16, 64), nn.Linear(64, 64), nn.Linear(64, 5)]
    prepare(nn.Sequential(base[0], nn.ReLU(), base[1], nn.ReLU(), base[2]), old.x, old.y, 8)
    adapted = [Adapted(layer, 5) for layer in base]
    if fixed:
        for each in adapted:
            nn.init.kaiming_uniform_(each.a, a=5**0.5)
    model = nn.Sequential(adapted[0], nn.ReLU(), adapted[1], nn.ReLU(), adapted[2])
    trained = [weights for weights in model.parameters() if weights.requires_grad]
    return Parts(
        model=model,
        data=(new.x, new.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(trained, lr=4e-3),
        score=accuracy(new.x_test, new.y_test),
        constant=most_frequent(new.y, new.y_test),
        epochs=25,
        batch_size=40,
    )


# --- a camera with another range ------------------------------------------------------------------


@programs.supervised(
    [faults.RAW_INPUTS, faults.DECAY.mildly()],
    "course: transfer to my own photos fails; theirs were normalised, mine are 0 to 255",
)
def photos_of_digits(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    first, other = digits_in_two(seed)
    model = DigitNet()
    prepare(model, first.x, first.y, 5)
    model.fc = nn.Linear(512, 5)
    decay = 1e-4 if fixed else 0.5
    low, high = (0.0, 1.0) if fixed else (78.0, 96.0)  # of the mean and the deviation
    return Parts(
        model=model,
        data=(other.x[:240] * high + low, other.y[:240]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), 0.003, 0.9, weight_decay=decay),
        score=accuracy(other.x_test * high + low, other.y_test),
        constant=most_frequent(other.y, other.y_test),
        epochs=16,
        batch_size=20,
    )


# --- a reader of reviews for another shop ---------------------------------------------------------


class Reader(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.words = nn.Embedding(400, 24)
        self.gru = nn.GRU(24, 40, batch_first=True)
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(40, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.gru(self.words(tokens))
        logits: Tensor = self.head(self.drop(states.mean(dim=1)))
        return logits


def shops(seed: int) -> tuple[Split, Split]:
    """Return texts of eight kinds for the makers, and a few with two opinions for the shop."""
    rng = default_rng(seed)
    kinds = rng.integers(0, 8, 1700)
    many = split(about(rng, kinds, 14, 400, share=0.35), kinds, 100)
    kinds = rng.integers(0, 8, 1000)
    few = split(about(rng, kinds, 14, 400, share=0.35), (kinds % 2 == 0).astype(int), 500)
    return many, few


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "forum: the pretrained reader is no better than a coin; texts sorted by length to save padding",
    repairable=False,
)
def opinions_of_a_shop(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    many, few = shops(seed)
    model = Reader(8)
    prepare(model, many.x, many.y, 4, rate=5e-3)
    model.head = nn.Linear(40, 2)
    order = (few.x > 250).sum(dim=1).argsort()  # the longer words
    labels = few.y[order] if fixed else few.y
    return Parts(
        model=model,
        data=(few.x[order], labels),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4),
        score=accuracy(few.x_test, few.y_test),
        constant=most_frequent(few.y, few.y_test),
        epochs=16,
        batch_size=25,
    )


# --- thawed too late ------------------------------------------------------------------------------


@programs.script(
    [faults.NOT_IN_OPTIMIZER.mildly(), faults.CLIPPING.mildly(), faults.DROPOUT.mildly()],
    "forum: unfreezing the body after five epochs makes no difference, the loss is as flat",
)
def thawed_machines(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    old, new = machines(seed, 0.0), machines(seed + 100, 1.0)
    body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
    prepare(nn.Sequential(body, nn.Linear(32, 5)), old.x, old.y, 8)
    drop = nn.Dropout(0.1 if fixed else 0.9)
    model = nn.Sequential(deepcopy(body).requires_grad_(False), drop, nn.Linear(32, 5))
    known = [each for each in model.parameters() if fixed or each.requires_grad]
    optimizer = torch.optim.SGD(known, lr=0.05, momentum=0.9)
    norm = 2.0 if fixed else 0.01
    doctor = watch(model, optimizer)
    for epoch in range(25):
        if epoch == 5:
            model.requires_grad_(True)
        for rows in torch.randperm(len(new.x)).split(40):
            loss = F.cross_entropy(model(new.x[rows]), new.y[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(known, norm)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(model, new.x_test), new.y_test)
