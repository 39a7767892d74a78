"""Series: orders of a bakery, wind, passengers of a bus, and belts that feel a movement."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "series")


def windows(values: np.ndarray, length: int) -> np.ndarray:
    """Return all windows of a series that have a value after them."""
    return np.stack([values[at : at + length] for at in range(len(values) - length)])


def orders(seed: int, days: int = 1500) -> np.ndarray:
    """Return how many loaves were ordered each day: weeks, seasons, and slow changes."""
    rng = default_rng(seed)
    day = np.arange(days)
    week = np.array([0, -20, -10, 0, 30, 80, -80])[day % 7]
    slow = np.convolve(rng.normal(0, 12, days + 29), np.ones(30) / 5, "valid")
    return 320 + week + 60 * np.sin(2 * np.pi * day / 365) + slow + rng.normal(0, 9, days)


class OrderNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(14, 48), nn.Linear(48, 32), nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


def squared(output: Tensor, wanted: Tensor) -> Tensor:
    return ((output - wanted) ** 2).mean()


@programs.supervised(
    [faults.RAW_INPUTS, faults.RAW_TARGETS, faults.BROADCAST],
    "forum: tomorrow's loaves are always the same number; no scaling, and (N, 1) minus (N,)",
)
def bakery_orders(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    loaves = orders(seed)
    mean, spread = loaves[:1000].mean(), loaves[:1000].std()
    standard = (loaves - mean) / spread
    shown = standard if fixed else loaves
    wanted = standard if fixed else loaves
    before, after = windows(shown, 14), wanted[14:]
    x, y = (torch.tensor(each, dtype=torch.float32) for each in (before, after))
    y_train = y.unsqueeze(1) if fixed else y
    model = OrderNet()
    return Parts(
        model=model,
        data=(x[:1000], y_train[:1000]),
        loss=squared,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(x[1000:], y[1000:]),
        constant=0.0,
        epochs=15,
        batch_size=25,
    )


def turbines(seed: int, ice: bool, hours: int = 1800, length: int = 12) -> tuple[Tensor, Tensor]:
    """Return wind speed and direction of the last hours, and the power of the next one.

    The sensor freezes now and then, and tells NaN or, if someone filled it in, the mean.
    """
    rng = default_rng(seed)
    calm = np.zeros(hours)
    for at in range(1, hours):
        calm[at] = 0.93 * calm[at - 1] + rng.normal(0, 0.37)
    hour = np.arange(hours)
    speed = calm + 0.6 * np.sin(2 * np.pi * hour / 24)
    power = 1 / (1 + np.exp(-2 * speed)) + rng.normal(0, 0.03, hours)
    seen = np.stack([speed, np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24)], 1)
    seen = (seen - seen.mean(0)) / seen.std(0)
    seen[rng.random(hours) < 0.003, 0] = np.nan if ice else 0.0
    power = (power - power.mean()) / power.std()
    x = windows(seen, length)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(power[length:]).float().unsqueeze(1)


class WindGRU(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 24, batch_first=True)
        self.head = nn.Sequential(nn.Linear(24, 1), last)

    def forward(self, x: Tensor) -> Tensor:
        hidden, _ = self.gru(x)
        return self.head(hidden[:, -1])


@programs.supervised(
    [faults.NAN_INPUTS, faults.RELU_OUTPUT.mildly()],
    "Q&A: power cannot be negative, hence the ReLU, though it is standardised; and icy sensors",
    repairable=False,
)
def wind_park(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, power = turbines(seed, ice=not fixed)
    model = WindGRU(nn.Identity() if fixed else nn.ReLU())
    return Parts(
        model=model,
        data=(x[:1300], power[:1300]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(x[1300:], power[1300:]),
        constant=0.0,
        epochs=12,
        batch_size=26,
    )


def passengers(seed: int, hours: int = 1700) -> np.ndarray:
    """Return how many get on a bus each hour, standardised."""
    rng = default_rng(seed)
    hour = np.arange(hours)
    rush = np.exp(-(((hour % 24) - 8) ** 2) / 6) + 0.8 * np.exp(-(((hour % 24) - 17) ** 2) / 10)
    weekend = (hour // 24) % 7 >= 5
    slow = np.convolve(rng.normal(0, 0.2, hours + 11), np.ones(12) / 3, "valid")
    count = 20 + 90 * rush * np.where(weekend, 0.4, 1.0) * np.exp(slow) + rng.normal(0, 3, hours)
    return (count - count.mean()) / count.std()


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "forum: the bus model only finds the mean; windows were shuffled before training, targets not",
    repairable=False,
)
def bus_passengers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    counts = passengers(seed)
    x = torch.tensor(windows(counts, 24), dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(counts[24:], dtype=torch.float32).unsqueeze(1)
    x_train, y_train = x[:1300], y[:1300]
    order = torch.randperm(1300)
    x_train, y_train = x_train[order], y_train[order] if fixed else y_train
    model = nn.Sequential(
        nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, stride=2, padding=2),
        nn.ReLU(), nn.Flatten(), nn.Linear(16 * 12, 32), nn.ReLU(), nn.Linear(32, 1),
    )  # fmt: skip
    return Parts(
        model=model,
        data=(x_train, y_train),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(x[1300:], y[1300:]),
        constant=0.0,
        epochs=15,
        batch_size=26,
    )


def belts(seed: int, count: int = 2400, length: int = 20) -> Split:
    """Return three seconds of a belt with an accelerometer, and whether the wearer fell."""
    rng = default_rng(seed)
    fell = rng.random(count) < 0.35
    time = np.arange(length)
    step = np.sin(rng.uniform(0.8, 1.4, (count, 1)) * time + rng.uniform(0, 6, (count, 1)))
    after = time - rng.integers(4, 14, (count, 1))
    hit = np.exp(-((after / 1.2) ** 2)) * 2.2
    jump = hit * (1 - 2 * (rng.random((count, 1)) < 0.5))
    lies = 0.8 * (after > 0) * fell[:, None]
    up = step * np.where((after > 0) & fell[:, None], 0.3, 1.0) + jump - lies
    side = 0.5 * rng.normal(0, 1, (count, length)) + 0.8 * lies
    x = np.concatenate([up + rng.normal(0, 0.3, up.shape), side], 1)
    x = (x - x.mean(0)) / x.std(0)
    return split(x.astype(np.float32), fell.astype(np.float32)[:, None], count // 4)


def belt_net(activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(40, 32), activation()]
    for _ in range(4):
        layers += [nn.Linear(32, 32), activation()]
    return nn.Sequential(*layers, nn.Linear(32, 1))


@programs.supervised(
    [faults.DEEP_SIGMOID, faults.SIGMOID_TWICE, faults.WRONG_LABELS.mildly()],
    "Q&A: a belt that never reports a fall; sigmoids everywhere, and a careless annotator",
    repairable=False,
)
def fall_belts(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = belts(seed)
    label = data.y
    if not fixed:
        careless = torch.rand(label.shape) < 0.3
        label = torch.where(careless, 1 - label, label)
    model = belt_net(nn.ReLU if fixed else nn.Sigmoid)
    if not fixed:
        model.append(nn.Sigmoid())
    fell = data.y_test[:, 0].long()
    return Parts(
        model=model,
        data=(data.x, label),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        score=accuracy(data.x_test, fell),
        constant=most_frequent(data.y[:, 0].long(), fell),
        epochs=15,
        batch_size=30,
    )
