"""Small samples: gates, leaves, alloys, acids, tulips and bread."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, bundled, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent, predict, r_squared

programs = ProgramList("calibration", "tiny data")

LARGE = Fault("a large network on few samples", ("overfitting",))
PAIRS = Fault("batch norm over pairs", ("batch_too_small",), ("underfitting", "loss_spike"))


class Gate(nn.Module):
    """Says whether three switches make the lamp light: an odd number of them must be on."""

    def __init__(self) -> None:
        super().__init__()
        self.x1 = nn.Linear(3, 12)
        self.x2 = nn.Linear(12, 1)

    def forward(self, x: Tensor) -> Tensor:
        lit: Tensor = self.x2(torch.tanh(self.x1(x)))
        return lit


@programs.script(
    [faults.MSE_FOR_CLASSES.mildly(), faults.LOW_RATE],
    "forum: a gate is not learned, every answer is 0.5; sigmoid, MSELoss and SGD at 0.01",
)
def lamp_with_three_switches(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x = torch.cartesian_prod(*3 * [torch.tensor([-1.0, 1.0])])
    y = (x.prod(1, keepdim=True) > 0).float()
    model = Gate()
    squares = not fixed
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3 if fixed else 0.01)
    doctor = watch(model, optimizer)
    for _ in range(1500):
        optimizer.zero_grad()
        outputs = model(x)
        if squares:
            loss = F.mse_loss(torch.sigmoid(outputs), y)
        else:
            loss = F.binary_cross_entropy_with_logits(outputs, y)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return r_squared(torch.sigmoid(predict(model, x)), y)


def leaves(seed: int, count: int) -> Split:
    """Return leaves of three trees: length, width, stalk, teeth."""
    rng = default_rng(seed)
    tree = rng.permutation(np.arange(count + 300) % 3)
    middle = np.array([[9, 5, 1.5, 20], [7, 6, 3, 4], [11, 4.5, 2.2, 40]])
    x = middle[tree] + rng.normal(0, 1, (count + 300, 4)) * [1.2, 0.7, 0.35, 6]
    return split(x.astype(np.float32), tree, 300)


@programs.supervised(
    [faults.SOFTMAX_OVER_BATCH, faults.LOW_RATE.mildly(), faults.DECAY.mildly()],
    "course: 36 leaves of three trees; log_softmax(dim=0), rate and decay from Keras",
)
def leaves_of_three_trees(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = leaves(seed, 36).standardised()
    last = nn.LogSoftmax(dim=1 if fixed else 0)
    model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 3), last)
    rate = 0.01 if fixed else 0.0002
    decay = 0.001 if fixed else 0.3
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=60,
        batch_size=6,
    )


def alloys(seed: int, count: int) -> Split:
    """Return melts of eight metals and how hard they came out, scaled."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count + 400, 8))
    hard = 1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.5 * x[:, 2] * (x[:, 2] > 0)
    hard = (hard + rng.normal(0, 0.12, len(hard))) / 1.5
    return split(x.astype(np.float32), hard.astype(np.float32)[:, None], 400)


@programs.supervised(
    faults.DEAD_RELU,
    "Q&A: 50 melts, all predicted alike, the first layer gets no gradient; biases set to -10",
)
def hardness_of_alloys(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = alloys(seed, 80)
    model = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 1))
    for parameter in model[0].parameters():
        if parameter.ndim == 1:
            nn.init.constant_(parameter, 0.1 if fixed else -10.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=100,
        batch_size=16,
    )


@programs.script(
    [faults.BROADCAST, faults.LOW_RATE.mildly()],
    "Q&A: 24 measurements of a titration; the curve is flat, with a warning about target sizes",
)
def titration(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    drops = torch.tensor(rng.permutation(np.linspace(-1.7, 1.7, 32)), dtype=torch.float32)[:, None]
    acid = torch.tanh(3 * drops[:, 0]) + 0.2 * drops[:, 0]
    measured = acid + 0.03 * torch.tensor(rng.normal(0, 1, 32), dtype=torch.float32)
    x, y = drops[:24], measured[:24]
    model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
    squeeze = bool(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01 if fixed else 0.0002)
    criterion = nn.MSELoss()
    doctor = watch(model, optimizer)
    for _ in range(600):
        optimizer.zero_grad()
        outputs = model(x)
        if squeeze:
            outputs = outputs.squeeze(1)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return explained(drops[24:], measured[24:])(model)


@programs.supervised(
    PAIRS.mildly(),
    "forum: batch norm with batch_size=2 as in the tutorial, results change each run",
)
def wines_in_pairs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed, test=0.5).standardised()
    model = nn.Sequential(
        *(nn.Linear(13, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 24)),
        *(nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 24), nn.BatchNorm1d(24), nn.ReLU()),
        nn.Linear(24, 3),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=16 if fixed else 2,
    )


def bulbs(seed: int, count: int) -> Split:
    """Return size, depth and wetness of bulbs, and which came up: a fifth of it is chance."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count + 600, 3))
    up = x[:, 0] - 0.8 * x[:, 1] + 0.6 * x[:, 2] > 0
    up = np.where(rng.random(len(x)) < 0.2, ~up, up)
    return split(x.astype(np.float32), up.astype(int), 600)


@programs.supervised(
    LARGE.mildly(),
    "forum: 150 bulbs, 97 % in training and the validation loss goes through the roof",
)
def bulbs_that_come_up(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bulbs(seed, 150)
    wide = 6 if fixed else 256
    layers: list[nn.Module] = [nn.Linear(3, wide), nn.ReLU()]
    if not fixed:
        layers += [nn.Linear(wide, wide), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(wide, 2))
    rate, decay = (0.01, 0.3) if fixed else (0.002, 0.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20 if fixed else 80,
        batch_size=15,
        validation=(data.x_test, data.y_test),
    )
