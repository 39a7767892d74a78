"""Regressions as people post them in threads: numbers from numbers, and an angle from a picture."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.programs import faults
from benchmarks.programs.data import split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "regression")


class Largest(nn.Module):
    """Three layers, with or without something in between."""

    def __init__(self, bent: bool) -> None:
        super().__init__()
        self.bent = bent
        self.fc1 = nn.Linear(6, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return one number for each row."""
        x = functional.relu(self.fc1(x)) if self.bent else self.fc1(x)
        x = functional.relu(self.fc2(x)) if self.bent else self.fc2(x)
        answer: Tensor = self.fc3(x)
        return answer


@programs.supervised(
    faults.NO_ACTIVATION.mildly(),
    "Q&A: a network for the second largest of six numbers, the loss stops falling early",
)
def runner_up_of_six(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rows = default_rng(seed).random((2600, 6)).astype(np.float32)
    data = split(rows, np.sort(rows, axis=1)[:, -2:-1], 600)
    model = Largest(bent=fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=60,
        batch_size=32,
    )


class Beam(nn.Module):
    """The network of a student's test rig."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
        self.out = nn.Linear(40, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scaled deflection."""
        answer: Tensor = self.out(self.body(x))
        return answer


@programs.supervised(
    faults.BROADCAST,
    "forum: a warning about sizes that was ignored, and all predictions close to the mean",
)
def beam_test_rig(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    count = 420
    load, length = rng.uniform(0.5, 12, count), rng.uniform(0.4, 3, count)
    width, height = rng.uniform(20, 80, count), rng.uniform(20, 120, count)
    modulus = rng.choice([11.0, 70.0, 210.0], count)
    sag = np.log(load * length**3 / (modulus * width * height**3))
    sag += rng.normal(0, 0.1, count)
    sag = (sag - sag.mean()) / sag.std()
    columns = np.stack([load, length, width, height, np.log(modulus)], 1)
    data = split(columns, sag, 120).standardised()
    model = Beam()
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1) if fixed else data.y),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=50,
        batch_size=8,
    )


def roads(seed: int, count: int = 1300, size: int = 24) -> tuple[Tensor, Tensor]:
    """Return grey pictures, from 0 to 255, of a road that bends, and the steering angle."""
    rng = default_rng(seed)
    angle = rng.normal(0, 1, count)
    row = np.arange(size)[None, :, None]
    column = np.arange(size)[None, None, :]
    away = (size - 1 - row) / (size - 1)  # 0 at the car
    start = rng.uniform(-2, 2, (count, 1, 1)) + (size - 1) / 2
    middle = start + np.clip(3.5 * angle, -9, 9)[:, None, None] * away**2
    wide = 4.5 - 3 * away
    picture = 70 + 110.0 * (np.abs(column - middle) < wide)
    picture += rng.normal(0, 18, picture.shape) + rng.uniform(-25, 25, (count, 1, 1))
    pixels = picture.clip(0, 255).astype(np.uint8).astype(np.float32)[:, None]
    return torch.from_numpy(pixels), torch.from_numpy(angle.astype(np.float32))[:, None]


class Pilot(nn.Module):
    """A small copy of the well-known driving network."""

    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.look = nn.Sequential(
            *(nn.Conv2d(1, 8, 5, stride=2), nn.ELU()),
            *(nn.Conv2d(8, 16, 3, stride=2), nn.ELU()),
            nn.Flatten(),
        )
        self.steer = nn.Sequential(nn.Linear(16 * 4 * 4, 32), nn.ELU(), nn.Linear(32, 1), last)

    def forward(self, x: Tensor) -> Tensor:
        """Return the angle."""
        answer: Tensor = self.steer(self.look(x))
        return answer


@programs.supervised(
    [faults.BOUNDED_OUTPUT, faults.RAW_INPUTS],
    "issue: steering angles that are all alike, pixels as the camera gives them",
)
def road_to_angle(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y = roads(seed)
    model = Pilot(nn.Identity() if fixed else nn.Sigmoid())
    x = x / 127.5 - 1 if fixed else x
    return Parts(
        model=model,
        data=(x[:1000], y[:1000]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        score=explained(x[1000:], y[1000:]),
        constant=0.0,
        epochs=15,
        batch_size=32,
    )
