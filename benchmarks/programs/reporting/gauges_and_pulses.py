"""Gauges, pulses and counters: the value to come, and what a signal shows."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.data import Split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import (
    accuracy,
    explained,
    most_frequent,
    predict,
    r_squared,
    right_share,
)

programs = ProgramList("reporting", "series")


def windows(values: Tensor, length: int, ahead: int = 0) -> tuple[Tensor, Tensor]:
    """Return every window of a series, and the value that is `ahead` steps after the next."""
    count = len(values) - length - ahead
    return values.unfold(0, length, 1)[:count].unsqueeze(2), values[length + ahead :]


def trams(seed: int, hours: int = 1300) -> Tensor:
    """Return passengers of a tram line by the hour."""
    own = torch.Generator().manual_seed(seed)
    hour = torch.arange(hours, dtype=torch.float32)
    busy = torch.sin(2 * torch.pi * hour / 24) + 0.6 * torch.sin(2 * torch.pi * hour / 12 + 1)
    week = 0.3 * torch.cos(2 * torch.pi * hour / 168)
    return 640 + 210 * (busy + week) + 25 * torch.randn(hours, generator=own)


class Recurrent(nn.Module):
    """A recurrent layer and the answer from its last state."""

    def __init__(self, layer: nn.Module, outputs: int) -> None:
        super().__init__()
        self.layer = layer
        self.head = nn.LazyLinear(outputs)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.layer(x)
        return self.head(states[:, -1])


@programs.supervised(
    [faults.RAW_TARGETS, faults.RAW_INPUTS],
    "Q&A: an LSTM on plain counts of passengers forecasts the same small number for every hour",
)
def passengers_of_a_tram(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    counts = trams(seed)
    if fixed:
        counts = (counts - counts[:900].mean()) / counts[:900].std()
    x, y = windows(counts, 16)
    model = Recurrent(nn.LSTM(1, 24, batch_first=True), 1)
    model(x[:2])
    return Parts(
        model=model,
        data=(x[:880], y[:880, None]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(x[900:], y[900:]),
        constant=0.0,
        epochs=12,
        batch_size=32,
    )


def heels(count: int, steps: int = 24) -> tuple[Tensor, Tensor]:
    """Return two channels of a shoe over time, and one of four ways to walk."""
    gait = torch.randint(0, 4, (count,))
    time = torch.arange(steps) + 12 * torch.rand(count, 1)
    speed = torch.tensor([0.4, 0.4, 0.8, 0.8])[gait][:, None]
    lag = torch.tensor([0.0, 1.6, 0.0, 1.6])[gait][:, None]
    both = torch.stack([torch.sin(speed * time), torch.sin(speed * time + lag)], 2)
    return both + 0.3 * torch.randn(count, steps, 2), gait


@programs.supervised(
    faults.MIXED_SAMPLES,
    "forum: (batch, time, channel) goes into a GRU whose batch_first was left at its default",
    kind="signals",
)
def ways_of_a_heel(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, gait = heels(1500)
    model = Recurrent(nn.GRU(2, 24, batch_first=fixed), 4)
    model(x[:2])
    return Parts(
        model=model,
        data=(x[:1000], gait[:1000]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=accuracy(x[1000:], gait[1000:]),
        constant=most_frequent(gait[:1000], gait[1000:]),
        epochs=12,
        batch_size=32,
    )


def waters(seed: int, hours: int = 1500) -> Tensor:
    """Return the level of a brook below a mill, standardised: the mill runs day and night."""
    own = torch.Generator().manual_seed(seed + 40)
    hour = torch.arange(hours, dtype=torch.float32)
    strokes = torch.sin(1.3 * hour) * (1 + 0.5 * torch.sin(0.11 * hour))
    level = strokes + 0.7 * torch.sin(2.1 * hour + 1) + 0.2 * torch.randn(hours, generator=own)
    return (level - level.mean()) / level.std()


@programs.script(
    faults.WRONG_SHIFT,
    "issue: the target is the last value of its own window, the curves lie on each other",
)
def level_of_a_brook(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, y = windows(waters(seed), 10)
    targets = y if fixed else x[:, -1, 0]
    net = nn.Sequential(nn.Flatten(), nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    doctor = watch(net, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(1000).split(32):
            loss = F.mse_loss(net(x[rows]).squeeze(1), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        with torch.no_grad():
            val_loss = F.mse_loss(net(x[1000:1200]).squeeze(1), targets[1000:1200])
        doctor.epoch(val_loss=float(val_loss))
    return r_squared(predict(net, x[1200:]), y[1200:])


def currents(seed: int) -> Split:
    """Return the current of motors over time, and one of six kinds of wear."""
    own = torch.Generator().manual_seed(seed + 7)
    wear = torch.randint(0, 6, (1800,), generator=own)
    time = torch.arange(40) / 40 + torch.rand(1800, 1, generator=own)
    x = torch.sin(8 * torch.pi * time)
    pitch = torch.tensor([0.0, 12.0, 17.0, 22.0, 27.0, 32.0])[wear][:, None]
    x = x + 0.8 * torch.sin(pitch * torch.pi * time) + 0.2 * torch.randn(1800, 40, generator=own)
    return Split(x[:1200, None], wear[:1200], x[1200:, None], wear[1200:])


@programs.supervised(
    [faults.DEEP_SIGMOID, faults.SOFTMAX_TWICE.mildly()],
    "course: five convolutions with sigmoids, softmax at the end and CrossEntropyLoss behind it",
    kind="signals",
)
def wear_of_motors(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = currents(seed)
    layers: list[nn.Module] = []
    for inputs in (1, 12, 12, 12, 12):
        layers += [nn.Conv1d(inputs, 12, 5, padding=2), nn.ReLU() if fixed else nn.Sigmoid()]
    layers += [nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(12, 6)]
    model = nn.Sequential(*layers)
    if not fixed:
        model.append(nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=12,
        batch_size=40,
    )


def tremors(seed: int) -> Split:
    """Return counts of a seismograph, in the thousands, and whether a tremor is in them."""
    own = torch.Generator().manual_seed(seed + 3)
    tremor = torch.randint(0, 2, (2000,), generator=own)
    x = torch.randn(2000, 48, generator=own)
    start = torch.randint(0, 36, (2000, 1), generator=own)
    since = torch.arange(48) - start
    wave = torch.exp(-since.clamp(min=0) / 5) * torch.sin(1.3 * since) * (since >= 0)
    x = 1200 + 800 * (x + 4 * tremor[:, None] * wave)
    return Split(x[:1400, None], tremor[:1400], x[1400:, None], tremor[1400:])


@programs.script(
    [faults.EVAL_MODE, faults.CLIPPING.mildly()],
    "forum: evaluate() before the first epoch and no train() after it; clipping at 0.005 with SGD",
    kind="signals",
)
def tremors_of_a_volcano(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = tremors(seed)
    model = nn.Sequential(
        nn.BatchNorm1d(1),
        *(nn.Conv1d(1, 12, 7, padding=3), nn.BatchNorm1d(12), nn.ReLU()),
        *(nn.Conv1d(12, 12, 7, padding=3), nn.BatchNorm1d(12), nn.ReLU()),
        *(nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(12, 2)),
    )

    def evaluate() -> float:
        model.eval()
        with torch.no_grad():
            return float(F.cross_entropy(model(data.x_test[:200]), data.y_test[:200]))

    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(TensorDataset(data.x, data.y), batch_size=40, shuffle=True)
    doctor = watch(model, optimizer)
    evaluate()
    for _epoch in range(10):
        if fixed:
            model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0 if fixed else 0.005)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_loss=evaluate())
    return right_share(predict(model, data.x_test[200:]), data.y_test[200:])


@programs.script(
    [faults.SCHEDULER, faults.NO_ACTIVATION],
    "Q&A: ExponentialLR(0.9) stepped in the inner loop, and layers of a forecast without ReLU",
)
def steam_of_a_plant(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    own = torch.Generator().manual_seed(seed + 90)
    steam = torch.zeros(1700)
    steam[0] = 0.3
    for hour in range(1, 1700):
        steam[hour] = 1 - 1.3 * steam[hour - 1] ** 2 + 0.3 * steam[hour - 2]
        steam[hour] += 0.02 * torch.randn(1, generator=own).item()
        steam[hour] = steam[hour].clamp(-1.4, 1.4)
    x, y = windows(steam, 4)
    x, y = x.squeeze(2) / steam.std(), (y - steam.mean()) / steam.std()
    between: type[nn.Module] = nn.ReLU if fixed else nn.Identity
    model = nn.Sequential(nn.Linear(4, 32), between(), nn.Linear(32, 32), between())
    model.append(nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    doctor = watch(model, optimizer)
    for _epoch in range(20):
        for rows in torch.randperm(1200).split(40):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x[rows]).squeeze(1), y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                scheduler.step()
        if fixed:
            scheduler.step()
        doctor.epoch()
    return r_squared(predict(model, x[1200:]), y[1200:])
