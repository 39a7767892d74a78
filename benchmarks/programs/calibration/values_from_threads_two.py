"""More regressions as people post them in threads: counts of a day, and the power of a turbine."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "regression")


def rentals(seed: int, count: int = 3000) -> Split:
    """Return hours with their weather, and the logarithm of the rented bikes, scaled."""
    rng = default_rng(seed)
    hour, day = rng.integers(0, 24, count), rng.integers(0, 7, count)
    warm, damp = rng.normal(14, 8, count), rng.uniform(20, 100, count)
    windy = rng.gamma(2, 6, count)
    work = day < 5
    rush = np.exp(-(((hour - 8) / 1.8) ** 2)) + 1.2 * np.exp(-(((hour - 17.5) / 2.2) ** 2))
    leisure = 1.1 * np.exp(-(((hour - 14) / 4) ** 2))
    pull = 2.6 + 2.2 * np.where(work, rush, leisure) - 1.2 * (hour < 5)
    pull += 0.06 * np.minimum(warm, 26) - 0.012 * np.maximum(damp - 60, 0) - 0.012 * windy
    bikes = rng.poisson(np.exp(pull + rng.normal(0, 0.12, count)))
    target = np.log1p(bikes)
    target = (target - target.mean()) / target.std()
    clock = 2 * np.pi * hour / 24
    turns = [wave(k * clock) for k in (1, 2, 3) for wave in (np.sin, np.cos)]
    columns = np.stack([*turns, work, warm, damp, windy], 1).astype(np.float32)
    return split(columns, target[:, None].astype(np.float32), count // 3).standardised()


@programs.supervised(
    [faults.RELU_OUTPUT, faults.DROPOUT.mildly(), faults.DECAY.mildly()],
    "forum: bike counts cannot be negative, and everything against overfitting at once",
)
def bikes_by_the_hour(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rentals(seed)
    share = 0.1 if fixed else 0.8
    layers: list[nn.Module] = [
        *(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(share)),
        *(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(share)),
        nn.Linear(64, 1),
    ]
    model = nn.Sequential(*layers, *([] if fixed else [nn.ReLU()]))
    decay = 1e-5 if fixed else 0.2
    return Parts(
        model=model,
        data=(data.x[:1700], data.y[:1700]),
        validation=(data.x[1700:], data.y[1700:]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=decay),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=64,
    )


class Blocks(nn.Module):
    """As many hidden layers as asked for, and a head."""

    def __init__(self, registered: bool, widths: tuple[int, ...] = (6, 40, 40, 40)) -> None:
        super().__init__()
        hidden = [nn.Linear(each, following) for each, following in pairwise(widths)]
        self.hidden = nn.ModuleList(hidden) if registered else hidden
        self.head = nn.Linear(widths[-1], 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the power."""
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        answer: Tensor = self.head(x)
        return answer


@programs.supervised(
    [faults.NOT_IN_OPTIMIZER, faults.RAW_TARGETS],
    "forum: the number of parameters is smaller than expected; power in kW",
)
def turbine_blocks(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    count = 2400
    wind, dense = rng.weibull(2, count) * 9, rng.normal(1.22, 0.05, count)
    pitch, yaw = rng.uniform(0, 12, count), rng.normal(0, 14, count)
    warm, rough = rng.normal(9, 7, count), rng.uniform(0.02, 0.25, count)
    fetch = wind * np.cos(np.radians(yaw)) ** 2 * (1 - 0.02 * pitch)
    power = 600 / (1 + np.exp(-(dense / 1.22) * (fetch - 8.2) / 1.1))
    power = np.where((wind < 3) | (wind > 19), 0, power) * (1 - 0.5 * rough)
    power += rng.normal(0, 12, count)  # in kW
    columns = np.stack([wind, dense, pitch, yaw, warm, rough], 1).astype(np.float32)
    data = split(columns, power[:, None].astype(np.float32), 800).standardised()
    model = Blocks(registered=fixed)
    middle, spread = (data.y.mean(), data.y.std()) if fixed else (0.0, 1.0)
    return Parts(
        model=model,
        data=(data.x, (data.y - middle) / spread),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(data.x_test, (data.y_test - middle) / spread),
        constant=0.0,
        epochs=40,
        batch_size=32,
    )
