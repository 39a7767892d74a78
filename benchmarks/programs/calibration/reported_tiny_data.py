"""A few dozen samples, as in first steps, course work and small trials."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, bundled, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "tiny data")

TOO_LARGE = Fault("network far too large for the data", ("overfitting",))


def halves(seed: int, count: int, noise: float = 0.2) -> Split:
    """Return `count` points on two bent halves, and 400 more to test on."""
    rng = default_rng(seed)
    label = rng.integers(0, 2, count + 400)
    angle = rng.uniform(0, np.pi, count + 400)
    side = 1 - 2 * label
    x = np.stack([side * np.cos(angle) + label - 0.5, side * np.sin(angle) + label / 2 - 0.25], 1)
    return split(x + rng.normal(0, noise, x.shape), label, 400)


@programs.script(faults.ZERO_START, "course: 'initialise all parameters with zeros', loss is 0.693")
def halves_from_zero(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = halves(seed, 90)
    w1, b1 = torch.zeros(2, 12), torch.zeros(12)
    w2, b2 = torch.zeros(12, 1), torch.zeros(1)
    if fixed:
        w1, w2 = torch.randn(2, 12), 0.3 * torch.randn(12, 1)

    class ByHand(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w1, self.b1 = nn.Parameter(w1), nn.Parameter(b1)
            self.w2, self.b2 = nn.Parameter(w2), nn.Parameter(b2)

        def forward(self, x: Tensor) -> Tensor:
            return (torch.tanh(x @ self.w1 + self.b1) @ self.w2 + self.b2).squeeze(1)

    model = ByHand()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03, weight_decay=3e-3)
    doctor = watch(model, optimizer)
    for _step in range(500):  # all points at once
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(data.x), data.y.float())
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.supervised(
    [faults.LARGE_START, faults.HIGH_RATE],
    "Q&A: normal_(0, 4) for all weights and a rate of 3, the accuracy jumps about",
)
def cultivars(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed).standardised()
    model = nn.Sequential(nn.Linear(13, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
    model.append(nn.Linear(8, 3))
    if not fixed:
        for each in model.parameters():
            nn.init.normal_(each, 0, 4)
    rate = 0.01 if fixed else 3.0
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=0.02),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=80,
        batch_size=16,
    )


@programs.script(
    [faults.BATCH_OF_ONE, faults.SIGNED_LABELS],
    "forum: one sample at a time with momentum, and the -1/1 labels of an SVM tutorial",
)
def two_fields(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (460, 3))
    ripe = x[:, 0] + 0.8 * x[:, 1] - 0.6 * x[:, 2] + rng.normal(0, 0.5, 460) > 0.7
    data = split(x, ripe.astype(int), 400)
    labels = data.y.float() if fixed else 2.0 * data.y - 1
    model = nn.Sequential(nn.Linear(3, 6), nn.Softplus(), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=0.03)
    doctor = watch(model, optimizer)
    for _epoch in range(120):
        for rows in torch.randperm(60).split(20 if fixed else 1):
            logits = model(data.x[rows])[:, 0]
            loss = F.binary_cross_entropy_with_logits(logits, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.supervised(
    faults.SOFTMAX_OF_ONE, "forum: my output is always 1; nn.Softmax(dim=1) on a single unit"
)
def trial_answers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    dose, weight = rng.uniform(0, 40, 480), rng.normal(72, 12, 480)
    answer = (dose / weight * 70 + rng.normal(0, 4, 480) > 21).astype(np.float32)
    data = split(np.stack([dose, weight], 1), answer[:, None], 400).standardised()
    last: nn.Module = nn.Sigmoid() if fixed else nn.Softmax(dim=1)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), last)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1),
        score=accuracy(data.x_test, data.y_test[:, 0].long()),
        constant=most_frequent(data.y[:, 0].long(), data.y_test[:, 0].long()),
        epochs=80,
        batch_size=10,
    )


@programs.supervised(
    TOO_LARGE.mildly(), "Q&A: 100 measurements, layers of 256, and the validation loss climbs"
)
def spring_constants(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (500, 4)).astype(np.float32)
    force = x @ np.array([0.8, -0.5, 0.3, 0.0]) + rng.normal(0, 0.5, 500)
    data = split(x, force[:, None], 400)
    large = [nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)]
    model = nn.Sequential(nn.Linear(4, 1)) if fixed else nn.Sequential(*large)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        validation=(data.x_test[:200], data.y_test[:200]),
        score=explained(data.x_test[200:], data.y_test[200:]),
        constant=0.0,
        epochs=120,
        batch_size=20,
    )


class Sorter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh())
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(x))


@programs.script(
    [faults.FROZEN, faults.CLIPPING],
    "Q&A: freezes the encoder as the transfer tutorial does, but it was never trained",
)
def seeds_frozen(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    kind = rng.integers(0, 3, 490)
    x = rng.normal(0, 1, (490, 4))
    x[:, 0] += np.array([-1.8, 0.0, 1.8])[kind]
    x[:, 1] += np.array([0.0, 2.4, 0.0])[kind]
    data = split(x, kind, 400)
    model = Sorter()
    if not fixed:
        model.encoder.requires_grad_(False)
    optimizer = torch.optim.SGD(
        [each for each in model.parameters() if each.requires_grad], lr=0.2, weight_decay=0.02
    )
    doctor = watch(model, optimizer)
    for _epoch in range(100):
        for rows in torch.randperm(90).split(15):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0 if fixed else 1e-3)
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.supervised(
    faults.WRONG_LABELS.mildly(),
    "forum: three students labelled 150 cells, and often disagreed",
    repairable=False,
)
def cell_labels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = halves(seed, 150, 0.15)
    wrong = torch.rand(150) < (0.0 if fixed else 0.3)
    model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
    model.append(nn.Linear(24, 2))
    return Parts(
        model=model,
        data=(data.x, torch.where(wrong, 1 - data.y, data.y)),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.1),
        validation=(data.x_test[:150], data.y_test[:150]),
        score=accuracy(data.x_test[150:], data.y_test[150:]),
        constant=most_frequent(data.y, data.y_test[150:]),
        epochs=100,
        batch_size=15,
    )


class Dose(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x @ self.weight + self.bias)


@programs.script(
    faults.NO_EPSILON, "forum: logistic regression by hand, nan as soon as a probability is 1"
)
def seedlings(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.standard_t(3, (480, 2))
    alive = (2 * x[:, 0] - x[:, 1] + rng.normal(0, 0.8, 480) > 0.3).astype(np.float32)
    data = split(x, alive, 400).standardised()
    model = Dose()
    eps = 1e-7 if fixed else 0.0
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _epoch in range(120):
        for rows in torch.randperm(80).split(16):
            p, y = model(data.x[rows]), data.y[rows]
            loss = -(y * torch.log(p + eps) + (1 - y) * torch.log(1 - p + eps)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test.long())(model)
