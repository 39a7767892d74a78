"""Series: a river, a heater, a grid, a pond and a factory, with forecasts like a flat line."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import Generator, default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained, r_squared

programs = ProgramList("calibration", "series")


def windows(values: np.ndarray, length: int, rng: Generator, count: int) -> Split:
    """Return windows of several columns in any order, and the first column after each."""
    starts = rng.permutation(len(values) - length)[:count]
    x = np.stack([values[start : start + length] for start in starts])
    return split(x.astype(np.float32), values[starts + length, :1].astype(np.float32), count // 3)


def river(seed: int) -> np.ndarray:
    """Return the level of a river, rain and snow melt, by day."""
    rng = default_rng(seed)
    rain = rng.gamma(0.35, 9, 2500) * (rng.random(2500) < 0.45)
    melt = np.clip(np.sin(2 * np.pi * np.arange(2500) / 365), 0, None) * rng.uniform(0, 6, 2500)
    level = np.zeros(2500)
    for day in range(4, 2500):
        flows = 0.5 * rain[day - 2] + 0.35 * rain[day - 4] * (rain[day - 2] > 3) + melt[day - 1]
        level[day] = 0.55 * level[day - 1] + flows
    level += rng.normal(0, 0.4, 2500)
    columns = np.stack([level, rain, melt], 1)
    return (columns - columns.mean(0)) / columns.std(0)


class RiverNet(nn.Module):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, units, batch_first=True)
        self.linear = nn.Linear(units, 1)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.lstm(x)
        level: Tensor = self.linear(states[:, -1])
        return level


@programs.supervised(
    [faults.LOW_RATE, faults.SMALL.mildly()],
    "forum: the LSTM gives nearly a straight line where an RNN is fine; two units, 10 epochs, 5e-5",
)
def level_of_a_river(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = windows(river(seed), 10, default_rng(seed), 1800)
    model = RiverNet(32 if fixed else 2)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3 if fixed else 5e-5),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=25,
        batch_size=32,
        validation=(data.x_test, data.y_test),
    )


def heater(seed: int, streams: int = 8, steps: int = 700) -> tuple[Tensor, Tensor]:
    """Return when heaters were on and what it was outside, and how warm the rooms got."""
    rng = default_rng(seed)
    on = (np.sin(np.cumsum(rng.normal(0, 0.25, (steps, streams)), 0)) > 0.2).astype(float)
    out = np.cumsum(rng.normal(0, 0.05, (steps, streams)), 0)
    out -= out.mean(0)
    warm, radiator = np.zeros((steps, streams)), np.zeros(streams)
    for step in range(1, steps):
        radiator = 0.75 * radiator + 0.25 * on[step - 1]
        warm[step] = 0.9 * warm[step - 1] + 0.9 * radiator + 0.08 * out[step]
    x = torch.tensor(np.stack([2 * on - 1, out], 2), dtype=torch.float32)
    y = torch.tensor(warm, dtype=torch.float32)
    return x, (y - y.mean()) / y.std()


class Room(nn.Module):
    """Goes on from the state of the piece before, as in a thread on stateful training."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(2, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden, state = self.rnn(x, state)
        return self.out(hidden).squeeze(2), state


@programs.script(
    faults.NO_ZERO_GRAD,
    "issue: keeping all time relations, a state carried from piece to piece; the error only grows",
)
def heated_rooms(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, y = heater(seed)
    model = Room()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    clear = bool(fixed)
    doctor = watch(model, optimizer)
    for _ in range(25):
        state = None
        for start in range(0, 500, 25):
            outputs, state = model(x[start : start + 25], state)
            state = state.detach()
            loss = F.mse_loss(outputs, y[start : start + 25])
            if clear:
                optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    model.eval()
    with torch.no_grad():
        outputs, _ = model(x, None)
    return r_squared(outputs[500:].reshape(-1), y[500:].reshape(-1))


def grid(seed: int) -> np.ndarray:
    """Return the load of a grid by the hour, with days of work and days off."""
    rng = default_rng(seed)
    hour = np.arange(2200)
    off = (hour // 24) % 7 >= 5
    load = np.sin(2 * np.pi * hour / 24) + 0.6 * np.sin(4 * np.pi * hour / 24 + 1) * ~off
    load = load - 0.5 * off + rng.normal(0, 0.12, 2200)
    return ((load - load.mean()) / load.std())[:, None]


class GridNet(nn.Module):
    """A GRU that wants time first."""

    def __init__(self, mix: bool) -> None:
        super().__init__()
        self.mix = mix
        self.gru = nn.GRU(1, 40)
        self.fc = nn.Linear(40, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x.reshape(24, len(x), 1) if self.mix else x.transpose(0, 1)
        _, last = self.gru(x)
        load: Tensor = self.fc(last[0])
        return load


@programs.supervised(
    faults.MIXED_SAMPLES,
    "Q&A: load of the next hour is predicted as 0 for each; view(seq_len, batch, 1) before the GRU",
)
def load_of_a_grid(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = windows(grid(seed), 24, default_rng(seed), 1350)
    model = GridNet(mix=not fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=12,
        batch_size=45,
    )


def pond(seed: int) -> np.ndarray:
    """Return the oxygen of a pond, light and wind, by the hour: an upward and downward swing."""
    rng = default_rng(seed)
    time = np.arange(2400)
    light = np.clip(np.sin(2 * np.pi * time / 24), 0, None) * rng.uniform(0.3, 1, 2400)
    wind = np.abs(np.sin(np.cumsum(rng.normal(0, 0.2, 2400))))
    oxygen = np.zeros(2400)
    for step in range(2, 2400):
        swing = 1.5 * oxygen[step - 1] - 0.8 * oxygen[step - 2]
        oxygen[step] = swing + light[step - 1] - 0.4 * wind[step - 1] * light[step - 2]
    oxygen += rng.normal(0, 0.1, 2400)
    columns = np.stack([oxygen, light, wind], 1)
    return (columns - columns.mean(0)) / columns.std(0)


class Seq2Dense(nn.Module):
    """The last state of an LSTM, kept for plots, and a dense network."""

    def __init__(self, keep: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 16, batch_first=True)
        self.decoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
        self.keep = keep

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.lstm(x)
        last = states[:, -1].detach() if self.keep else states[:, -1]
        oxygen: Tensor = self.decoder(last)
        return oxygen


@programs.supervised(
    [faults.DETACHED.mildly(), faults.DECAY.mildly()],
    "forum: an LSTM with dense layers is worse than its Keras twin; its state is kept detached",
)
def oxygen_of_a_pond(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = windows(pond(seed), 12, default_rng(seed), 1800)
    model = Seq2Dense(keep=not fixed)
    decay = 1e-5 if fixed else 0.03
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=decay),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=20,
        batch_size=40,
    )
