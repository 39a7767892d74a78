"""Small samples from threads: a few dozen rows, and a network that should manage."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, bundled, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "tiny data")

MEMORISED = Fault("far too large and too long for so few samples", ("overfitting",), mild=True)


def leaves(seed: int) -> Split:
    """Return 60 leaves with seven measurements between 0 and 1, and many more held out."""
    rng = default_rng(seed)
    count = 460
    x = rng.gamma(3, 1, (count, 7))
    pull = 1.1 * x[:, 0] - 0.9 * x[:, 1] + 0.8 * x[:, 2] - 0.6 * x[:, 3] + rng.normal(0, 0.5, count)
    x = (x / x.max(0)).astype(np.float32)
    return split(x, (pull > np.median(pull)).astype(int), 400)


class LeafModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(7, 48)
        self.fc2 = nn.Linear(48, 24)
        self.fc3 = nn.Linear(24, 2)
        self.apply(self.start)

    @staticmethod
    def start(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


@programs.supervised(
    faults.LOW_RATE, "forum: 60 samples, min-max scaled, and the loss is a saw that stays up"
)
def sixty_leaves(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = leaves(seed)
    model = LeafModel()
    rate = 0.05 if fixed else 1e-4
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=200,
        batch_size=8,
    )


def operations(seed: int) -> Split:
    """Return 150 patients whose outcome is 1 or 2, as the file has it."""
    rng = default_rng(seed)
    count = 450
    age, year = rng.normal(54, 11, count), rng.integers(58, 70, count)
    nodes = rng.geometric(0.2, count) - 1
    stage = rng.integers(1, 5, count)
    pull = 0.25 * (nodes - 4) + 0.07 * (age - 54) + 0.9 * (stage - 2.5) + rng.normal(0, 0.5, count)
    x = np.column_stack([age, year, nodes, stage]).astype(np.float32)
    return split(x, 1 + (pull > np.quantile(pull, 0.6)), 300).standardised()


@programs.supervised(
    faults.LABELS_FROM_ONE, "Q&A: the outcome column has 1 and 2, the loss is negative"
)
def outcome_one_or_two(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = operations(seed)
    classes = data.y - 1
    labels = classes if fixed else data.y
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    return Parts(
        model=model,
        data=(data.x, labels.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4),
        score=accuracy(data.x_test, data.y_test - 1),
        constant=most_frequent(classes, data.y_test - 1),
        epochs=80,
        batch_size=10,
    )


def distances(seed: int) -> Split:
    """Return 24 calibration points of an infrared sensor, and held-out ones on the same curve."""
    rng = default_rng(seed)
    volts = np.concatenate([np.linspace(0.4, 3.0, 24), rng.uniform(0.42, 2.95, 100)])
    metres = 0.277 * volts**-1.25 + rng.normal(0, 0.006, len(volts))
    x = ((volts - 1.7) / 0.78)[:, None]
    return split(x.astype(np.float32), ((metres - 0.22) / 0.2).astype(np.float32), 100)


@programs.script(
    [faults.NO_ZERO_GRAD, faults.NO_ACTIVATION.mildly()],
    "Q&A: a curve through two dozen points comes out as a straight line that swings",
)
def infrared_points(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = distances(seed)
    x, y = data.x, data.y.view(-1, 1)
    bend: nn.Module = nn.Tanh() if fixed else nn.Identity()
    net = nn.Sequential(nn.Linear(1, 30), bend, nn.Linear(30, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    forget = bool(fixed)
    doctor = watch(net, optimizer)
    for _ in range(1500):
        if forget:
            optimizer.zero_grad()
        loss = torch.mean((net(x) - y) ** 2)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return explained(data.x_test, data.y_test)(net)


def plots(seed: int) -> Split:
    """Return 60 plots with one noisy harvest each, and held-out ones with the mean of many."""
    rng = default_rng(seed)
    count = 560
    x = rng.normal(0, 1, (count, 8))
    y = 0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.5 * np.tanh(x[:, 2]) + 0.4 * x[:, 3]
    y += np.where(np.arange(count) < 60, 0.75, 0.1) * rng.normal(0, 1, count)
    return split(x.astype(np.float32), y[:, None].astype(np.float32), 500).standardised()


@programs.supervised(
    MEMORISED, "forum: 60 plots, training loss is zero and validation loss only rises"
)
def sixty_plots(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = plots(seed)
    width, epochs = (16, 30) if fixed else (256, 200)
    model = nn.Sequential(
        *(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()), nn.Linear(width, 1)
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-3),
        score=explained(data.x_test[100:], data.y_test[100:]),
        constant=0.0,
        epochs=epochs,
        batch_size=10,
        validation=(data.x_test[:100], data.y_test[:100]),
    )


class Cellar(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(13, hidden)
        self.out = nn.Linear(hidden, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.relu(self.hidden(x)))


@programs.script(
    [faults.SMALL.mildly(), faults.CLIPPING, faults.SOFTMAX_OVER_BATCH.mildly()],
    "Q&A: three dozen wines, log_softmax asked for a dim, and clipping to be safe",
)
def three_dozen_wines(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = bundled("wine", seed, test=0.8).standardised()
    net = Cellar(hidden=16 if fixed else 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    limit = 1.0 if fixed else 0.01
    across = 1 if fixed else 0
    doctor = watch(net, opt)
    for _ in range(60):
        for rows in torch.randperm(len(data.x)).split(6):
            opt.zero_grad()
            logs = F.log_softmax(net(data.x[rows]), dim=across)
            loss = F.nll_loss(logs, data.y[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), limit)
            opt.step()
            doctor.step(loss)
        doctor.epoch()
    return accuracy(data.x_test, data.y_test)(net)
