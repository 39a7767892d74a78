"""A few dozen rows: cultures, stones, tides, teas and sprouts."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent, predict, r_squared

programs = ProgramList("calibration", "tiny data")


def cultures(count: int) -> tuple[Tensor, Tensor]:
    """Return hours, warmth and sugar of yeast cultures, and how they have grown. Standardised."""
    x = (torch.rand(count, 3) - 0.5) * 12**0.5
    grown = torch.sigmoid(2 * x[:, 0] + 0.8 * x[:, 2]) - 0.25 * x[:, 1].square()
    grown = grown + 0.02 * torch.randn(count)
    return x, ((grown - 0.25) / 0.42).unsqueeze(1)


@programs.supervised(
    faults.NAN_INPUTS,
    "Q&A: 48 rows from a spreadsheet with two empty cells, read as NaN; the loss is NaN at once",
)
def yeast_growth(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, grown = cultures(48)
    x_test, grown_test = cultures(300)
    x[7, 1] = x[31, 2] = float("nan")
    if fixed:
        kept = x.isfinite().all(1)
        x, grown = x[kept], grown[kept]
    model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
    return Parts(
        model=model,
        data=(x, grown),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4),
        score=explained(x_test, grown_test),
        constant=0.0,
        epochs=160,
        batch_size=12,
    )


def stones(count: int) -> tuple[Tensor, Tensor]:
    """Return colour, weight and hardness of stones, standardised, and one of five minerals."""
    kind = torch.arange(count) % 5
    middle = torch.tensor(
        [[1.2, 0, -1], [-1.2, 0.6, 1], [0.3, -1.5, 0.2], [-0.6, 0.9, -1.3], [0.8, 1, 1.2]]
    )
    return middle[kind] + 0.3 * torch.randn(count, 3), kind


@programs.supervised(
    [faults.DEAD_RELU, faults.CLASS_NUMBERS.mildly()],
    "forum: 60 stones with biases of -8 from a paper, and the number of the mineral as the target",
)
def mineral_kinds(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, kind = stones(60)
    x_test, kind_test = stones(400)
    as_number = not fixed
    hidden = nn.Linear(3, 32)
    if not fixed:
        nn.init.constant_(hidden.bias, -8.0)
    model = nn.Sequential(hidden, nn.ReLU(), nn.Linear(32, 1 if as_number else 5))
    return Parts(
        model=model,
        data=(x, kind.float().unsqueeze(1) if as_number else kind),
        loss=nn.MSELoss() if as_number else nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        score=accuracy(x_test, kind_test),
        constant=most_frequent(kind, kind_test),
        epochs=120,
        batch_size=12,
    )


def tides(hours: Tensor) -> Tensor:
    """Return the level of the water on the day of a storm, in metres."""
    return 0.11 * hours + 1.1 * torch.sin(2 * torch.pi * hours / 12.4)


@programs.script(
    [faults.NO_ZERO_GRAD, faults.NO_ACTIVATION.mildly()],
    "Q&A: 40 marks of a tide gauge, a loop from memory and layers without anything in between",
)
def tide_marks(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    hours = torch.linspace(0, 24, 40).unsqueeze(1)
    level = tides(hours) + 0.05 * torch.randn(40, 1)
    level = (level - level.mean()) / level.std()
    later = torch.linspace(0.3, 23.7, 200).unsqueeze(1)
    truth = (tides(later) - tides(hours).mean()) / tides(hours).std()
    hours, later = (hours - 12) / 7.1, (later - 12) / 7.1
    between = nn.Tanh if fixed else nn.Identity
    model = nn.Sequential(
        nn.Linear(1, 32), between(), nn.Linear(32, 32), between(), nn.Linear(32, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()
    doctor = watch(model, optimizer)
    for _step in range(1000):
        if fixed:
            optimizer.zero_grad()
        loss = criterion(model(hours), level)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return r_squared(predict(model, later), truth)


def teas(count: int) -> tuple[Tensor, Tensor]:
    """Return smells of teas on four sensors, standardised, and one of four blends from 1 to 4."""
    blend = torch.arange(count) % 4
    middle = torch.tensor(
        [[1.1, 0.2, -0.9, 0.5], [-1, 0.9, 0.6, 0], [0.4, -1.2, 0.8, -0.9], [-0.5, 0.1, -0.5, 0.4]]
    )
    return middle[blend] + 0.4 * torch.randn(count, 4), blend + 1


@programs.supervised(
    [faults.LABELS_FROM_ONE, faults.BATCH_OF_ONE.mildly()],
    "issue: 'target 4 is out of bounds' silenced with clamp(max=3), and one tea at a time",
    repairable=False,
)
def tea_blends(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, blend = teas(120)
    x_test, blend_test = teas(400)
    model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 4))
    return Parts(
        model=model,
        data=(x, blend - 1 if fixed else blend.clamp(max=3)),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9),
        score=accuracy(x_test, blend_test - 1),
        constant=most_frequent(blend, blend_test),
        epochs=30,
        batch_size=16 if fixed else 1,
    )


def sprouts(count: int) -> tuple[Tensor, Tensor]:
    """Return light and water of sprouts, and their height and leaves after a week. Standardised."""
    x = (torch.rand(count, 2) - 0.5) * 12**0.5
    light, water = x[:, 0], x[:, 1]
    height = torch.tanh(1.2 * water) - 0.5 * light
    number = 0.6 * light * water + 0.4 * water
    y = torch.stack([height / 0.9, number / 0.7], 1)
    return x, y + 0.05 * torch.randn(count, 2)


def total_error(outputs: Tensor, targets: Tensor) -> Tensor:
    return torch.sum((outputs - targets) ** 2)


def average_error(outputs: Tensor, targets: Tensor) -> Tensor:
    return torch.mean((outputs - targets) ** 2)


@programs.supervised(
    [faults.ZERO_START, faults.SUM],
    "Q&A: 64 sprouts, every parameter set to zero 'to be fair', and the sum of squares as the loss",
)
def bean_sprouts(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y = sprouts(64)
    x_test, y_test = sprouts(300)
    model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
    if not fixed:
        for parameter in model.parameters():
            nn.init.zeros_(parameter)
    return Parts(
        model=model,
        data=(x, y),
        loss=average_error if fixed else total_error,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        score=explained(x_test, y_test),
        constant=0.0,
        epochs=250,
        batch_size=16,
    )
