"""Programs that squeeze and restore: heart beats, pumps, spectra."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "autoencoders")


def one_scale(x: np.ndarray, test: int) -> Split:
    """Hold some out and bring all to mean 0 and deviation 1. The targets are the inputs."""
    known = x[:-test]
    even = ((x - known.mean()) / known.std()).astype(np.float32)
    return split(even, even, test)


# --- heart beats ----------------------------------------------------------------------------------


def heart_beats(seed: int, count: int = 1500, length: int = 40) -> Split:
    """Return single beats: a small wave, a high peak, a broad wave, all of changing shape."""
    rng = default_rng(seed)
    time = np.linspace(0, 1, length)
    beats = np.zeros((count, length))
    for middle, width, height in [(0.2, 0.05, 0.2), (0.42, 0.03, 1.5), (0.7, 0.09, 0.4)]:
        where = middle + rng.normal(0, 0.02, (count, 1))
        high = height * rng.uniform(0.6, 1.4, (count, 1))
        beats += high * np.exp(-(((time - where) / width) ** 2) / 2)
    return one_scale(beats + rng.normal(0, 0.03, beats.shape), 500)


def beat_coder(end: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Linear(40, 48), nn.LeakyReLU(0.1), nn.Linear(48, 7)),
        *(nn.Linear(7, 48), nn.LeakyReLU(0.1), nn.Linear(48, 40), end),
    )


@programs.supervised(
    faults.BOUNDED_OUTPUT, "Q&A: the autoencoder cuts off the top of each heart beat"
)
def cut_heart_beats(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = heart_beats(seed)
    model = beat_coder(nn.Identity() if fixed else nn.Tanh())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=50,
        batch_size=40,
    )


# --- pumps ----------------------------------------------------------------------------------------


def pumps(seed: int, count: int = 900, length: int = 12) -> Split:
    """Return pressure and flow of healthy pumps, which swing with speed and load."""
    rng = default_rng(seed)
    time = np.arange(length)
    speed, start = rng.uniform(0.35, 0.7, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    load = rng.uniform(0.5, 1.5, (count, 1))
    pressure = load * np.sin(speed * time + start)
    flow = 0.7 * np.cos(speed * time + start) + 0.5 * (load - 1)
    both = np.stack([pressure, flow], axis=2)
    return one_scale(both + rng.normal(0, 0.05, both.shape), 300)


class PumpCoder(nn.Module):
    """An LSTM reads the series, and another one repeats it from the last state."""

    def __init__(self, width: int, end: nn.Module) -> None:
        super().__init__()
        self.encoder = nn.LSTM(2, 48, batch_first=True)
        self.squeeze = nn.Linear(48, width)
        self.decoder = nn.LSTM(width, 48, batch_first=True)
        self.out, self.end = nn.Linear(48, 2), end

    def forward(self, series: Tensor) -> Tensor:
        _, (last, _) = self.encoder(series)
        code = self.squeeze(last[-1]).unsqueeze(1).expand(-1, series.shape[1], -1)
        repeated: Tensor = self.end(self.out(self.decoder(code)[0]))
        return repeated


@programs.supervised(
    [faults.RELU_OUTPUT, faults.SMALL.mildly()],
    "forum: LSTM autoencoder for anomalies restores a line at zero, with a code of one number",
)
def pump_series(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = pumps(seed)
    width = 8 if fixed else 1
    model = PumpCoder(width, nn.Identity() if fixed else nn.ReLU())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=60,
        batch_size=30,
    )


# --- spectra of minerals --------------------------------------------------------------------------


def spectra(seed: int, count: int = 1600, length: int = 48) -> Split:
    """Return spectra with two lines, whose places and heights are the minerals' own."""
    rng = default_rng(seed)
    bands = np.arange(length)
    lines = np.zeros((count, length))
    for low, high in [(8, 22), (26, 40)]:
        where = rng.uniform(low, high, (count, 1))
        lines += rng.uniform(0.7, 1.3, (count, 1)) * np.exp(-(((bands - where) / 2.5) ** 2))
    return one_scale(lines + rng.normal(0, 0.03, lines.shape), 500)


def spectrum_coder(act: type[nn.Module], drop: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for fewer, more in [(48, 64), (64, 32)]:
        layers += [nn.Linear(fewer, more), act(), nn.Dropout(drop)]
    layers += [nn.Linear(32, 5), nn.Linear(5, 32), act(), nn.Linear(32, 64), act()]
    return nn.Sequential(*layers, nn.Linear(64, 48))


@programs.supervised(
    [faults.NO_ACTIVATION, faults.DROPOUT.mildly(), faults.DECAY.mildly()],
    "Q&A: the autoencoder is worse than PCA, even though it is deep and well regularised",
)
def lines_of_minerals(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = spectra(seed)
    act = nn.ELU if fixed else nn.Identity
    drop = 0.0 if fixed else 0.6
    decay = 1e-6 if fixed else 3e-3
    model = spectrum_coder(act, drop)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=decay),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=60,
        batch_size=40,
    )
