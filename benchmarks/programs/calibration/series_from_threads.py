"""Series: a wind turbine, activities, a greenhouse, heart beats and sunspots."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "series")


def turbine(seed: int, count: int = 1500, length: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return hours of wind, gusts and temperature with gaps, and the power of the hour after."""
    rng = default_rng(seed)
    hours = np.arange(count + length)
    slow = np.zeros(len(hours))
    for hour in hours[1:]:
        slow[hour] = 0.95 * slow[hour - 1] + rng.normal(0, 0.9)
    wind = np.clip(8 + slow + 1.5 * np.sin(2 * np.pi * hours / 24), 0, None)
    gusts = wind * rng.uniform(1.1, 1.6, len(hours))
    degrees = 11 + 6 * np.sin(2 * np.pi * (hours - 8) / 24) + rng.normal(0, 1, len(hours))
    power = 2000 / (1 + np.exp(-(wind - 8) / 1.3)) + rng.normal(0, 40, len(hours))
    table = np.stack([wind, gusts, degrees], 1)
    table[rng.random(table.shape) < 0.004] = np.nan  # the logger was off
    windows = np.stack([table[start : start + length] for start in range(count)])
    return windows, power[length:] / 1000


class TurbinePower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 32, batch_first=True)
        self.regressor = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, window: Tensor) -> Tensor:
        _, last = self.gru(window)
        power: Tensor = self.regressor(last[0])
        return power.squeeze(1)


@programs.supervised(
    faults.NAN_INPUTS, "forum: GRU on logger data, the loss is nan from the first epoch on"
)
def turbine_log(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    windows, power = turbine(seed)
    windows = (windows - np.nanmean(windows, (0, 1))) / np.nanstd(windows, (0, 1))
    if fixed:
        windows = np.nan_to_num(windows)  # a gap becomes the mean
    data = split(windows, power, 400)
    model = TurbinePower()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=20,
        batch_size=32,
    )


def activities(seed: int, count: int = 1500, length: int = 48) -> Split:
    """Return readings of an accelerometer, from 0 to 4095, of five activities."""
    rng = default_rng(seed)
    y = rng.choice(5, count, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    time = np.arange(length)
    speed = np.array([0.0, 0.3, 0.38, 0.62, 0.75])[y] * rng.normal(1, 0.06, count)
    swing = np.array([0, 220, 260, 420, 380])[y] * rng.uniform(0.6, 1.3, count)
    phase = rng.uniform(0, 2 * np.pi, (count, 3, 1))
    x = np.sin(time * speed[:, None, None] + phase) * swing[:, None, None]
    tilt = rng.normal(0, 120, (count, 3, 1)) + np.array([2048, 2048, 3070])[:, None]
    x = np.clip(x + tilt + rng.normal(0, 110, x.shape), 0, 4095)
    return split(x.astype(np.float32), y, count // 3)


class ActivityNet(nn.Module):
    def __init__(self, softmax: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(3, 16, 5, padding=2)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.pool = nn.MaxPool1d(2)
        self.fc1 = nn.Linear(32 * 12, 48)
        self.fc2 = nn.Linear(48, 5)
        self.last = nn.Softmax(dim=1) if softmax else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.fc1(x.flatten(1)))
        out: Tensor = self.last(self.fc2(x))
        return out


@programs.supervised(
    [faults.RAW_INPUTS, faults.SOFTMAX_TWICE],
    "forum: 1D CNN on a phone's accelerometer always answers the first activity",
)
def pocket_activities(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = activities(seed)
    if fixed:
        mean, spread = data.x.mean((0, 2), keepdim=True), data.x.std((0, 2), keepdim=True)
        data = Split((data.x - mean) / spread, data.y, (data.x_test - mean) / spread, data.y_test)
    model = ActivityNet(softmax=not fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=12,
        batch_size=32,
    )


def greenhouse(seed: int, count: int = 1300, length: int = 24, ahead: int = 8) -> Split:
    """Return a day of a greenhouse's warmth, standardised, and the hours after it."""
    rng = default_rng(seed)
    hours = np.arange(count + length + ahead)
    sun = np.clip(np.sin(2 * np.pi * hours / 24), 0, None)
    clouds = np.repeat(rng.uniform(0.4, 1.0, len(hours) // 24 + 1), 24)[: len(hours)]
    heating = 2.0 * (hours % 12 < 3)
    warmth = 14 + 11 * sun * clouds + heating + rng.normal(0, 0.5, len(hours))
    warmth = (warmth - warmth[:900].mean()) / warmth[:900].std()
    x = np.stack([warmth[start : start + length] for start in range(count)])
    y = np.stack([warmth[start + length : start + length + ahead] for start in range(count)])
    return split(x[:, :, None], y, 350)


class Forecaster(nn.Module):
    def __init__(self, hidden: int, last: nn.Module) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 8)
        self.last = last

    def forward(self, window: Tensor) -> Tensor:
        output, _ = self.lstm(window)
        ahead: Tensor = self.last(self.linear(output[:, -1]))
        return ahead


@programs.supervised(
    [faults.SMALL.mildly(), faults.RELU_OUTPUT, faults.FEW_EPOCHS.mildly()],
    "Q&A: the forecast of the next hours is nearly flat; hidden_size=1 for one feature",
)
def greenhouse_ahead(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = greenhouse(seed)
    hidden = 48 if fixed else 1
    model = Forecaster(hidden, nn.Identity() if fixed else nn.ReLU())
    epochs = 25 if fixed else 2
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=epochs,
        batch_size=32,
        validation=(data.x_test, data.y_test),
    )


def beats(seed: int, count: int = 1200, length: int = 64) -> Split:
    """Return heart beats of four kinds, most of them normal, in millivolts."""
    rng = default_rng(seed)
    y = rng.choice(4, count, p=[0.5, 0.2, 0.18, 0.12])
    time = np.arange(length) - rng.normal(32, 3, (count, 1))
    width = np.array([1.5, 3.2, 1.5, 2.2])[y][:, None] * rng.uniform(0.8, 1.25, (count, 1))
    wave = np.array([0.25, -0.1, 0.22, 0.05])[y][:, None] * rng.uniform(0.7, 1.3, (count, 1))
    early = np.array([0.15, 0.02, 0.0, 0.12])[y][:, None] * rng.uniform(0.7, 1.3, (count, 1))
    x = np.exp(-0.5 * (time / width) ** 2) * rng.uniform(0.7, 1.3, (count, 1))
    x += wave * np.exp(-0.5 * ((time - 16) / 4) ** 2)
    x += early * np.exp(-0.5 * ((time + 12) / 2.5) ** 2)
    x += rng.normal(0, 0.06, x.shape) + rng.normal(0, 0.2, (count, 1))
    return split(x[:, None].astype(np.float32), y, count // 3)


class BeatNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in [(1, 12), (12, 24), (24, 24), (24, 32)]:
            layers += [nn.Conv1d(before, after, 5, padding=2, bias=False)]
            layers += [nn.BatchNorm1d(after), nn.ReLU(), nn.MaxPool1d(2)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 4))

    def forward(self, beat: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(beat))
        return logits


@programs.script(
    [faults.NO_ZERO_GRAD, faults.EVAL_MODE.mildly()],
    "forum: ECG beats by a loop of one's own, fine at first and then worse each epoch",
)
def ecg_beats(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = beats(seed)
    score = accuracy(data.x_test, data.y_test)
    model = BeatNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    each_batch, back_to_training = fixed, fixed
    doctor = watch(model, optimizer)
    for _ in range(12):
        with torch.no_grad():
            model.eval()
            held_out = functional.cross_entropy(model(data.x_test), data.y_test)
        if back_to_training:
            model.train()
        optimizer.zero_grad()
        for rows in torch.randperm(len(data.x)).split(32):
            if each_batch:
                optimizer.zero_grad()
            loss = functional.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_loss=float(held_out))
    return score(model)


def sunspots(seed: int, months: int = 1400, length: int = 36) -> Split:
    """Return windows of monthly sunspots, standardised, and the spots half a year later."""
    rng = default_rng(seed)
    heights = np.repeat(rng.uniform(70, 190, months // 132 + 2), 132)[: months + length + 6]
    phase = 2 * np.pi * np.arange(len(heights)) / 132
    spots = heights * np.sin(phase / 2) ** 2 * (1 + 0.2 * np.sin(2 * phase))
    spots = np.clip(spots + rng.normal(0, 9, len(spots)), 0, None)
    spots = (spots - spots[:1000].mean()) / spots[:1000].std()
    x = np.stack([spots[start : start + length] for start in range(months)])
    return split(x, spots[length + 5 : length + 5 + months, None], 400)


@programs.supervised(
    faults.BOUNDED_OUTPUT.mildly(),
    "Q&A: the forecast cuts off the peaks and never goes below zero; sigmoid from an example",
)
def sunspot_peaks(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = sunspots(seed)
    model = nn.Sequential(
        nn.Linear(36, 32),
        nn.Tanh(),
        nn.Linear(32, 16),
        nn.Tanh(),
        nn.Linear(16, 1),
        nn.Identity() if fixed else nn.Sigmoid(),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
        batch_size=20,
    )
