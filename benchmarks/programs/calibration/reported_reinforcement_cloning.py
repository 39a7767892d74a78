"""Reinforcement learning without a world: pilots that are cloned from what others did."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, most_frequent

programs = ProgramList("calibration", "reinforcement learning")


def record(seed: int, count: int, copies: bool) -> tuple[Tensor, Tensor]:
    """Return what a hovering drone saw, and the thrust that an expert chose: down, none or up.

    The world changes its state in place, so that a list of it needs copies.
    """
    rng = default_rng(seed)
    state = np.zeros(4, np.float32)  # height, climb, wind and load
    states, thrusts = [], []
    for _ in range(count):
        wish = -1.2 * state[0] - 0.9 * state[1] - 0.6 * state[2] * np.abs(state[3])
        thrust = int(wish > -0.45) + int(wish > 0.45)
        states.append(state.copy() if copies else state)
        thrusts.append(thrust)
        climb = 0.6 * state[1] + 0.4 * (thrust - 1) + 0.5 * state[2] + rng.normal(0, 0.3)
        state[0] = 0.9 * state[0] + 0.4 * climb
        state[1] = climb
        state[2:] = 0.5 * state[2:] + rng.normal(0, 1, 2)
    return torch.as_tensor(np.stack(states)), torch.tensor(thrusts)


@programs.supervised(
    faults.CONSTANT_INPUTS,
    "forum: a cloned drone always does the same; states.append(state) of an array that changes",
    repairable=False,
)
def drone_same_array(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    states, thrusts = record(seed, 3000, copies=fixed)
    seen, done = record(seed + 100, 800, copies=True)
    model = nn.Sequential(
        nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3)
    )
    return Parts(
        model=model,
        data=(states, thrusts),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(seen, done),
        constant=most_frequent(thrusts, done),
        epochs=18,
        batch_size=50,
    )


def lanes(seed: int, count: int, wrong: float) -> tuple[Tensor, Tensor]:
    """Return distances to the cars around, and which of five moves a driver made."""
    own = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 6, generator=own)
    free_left, free_right = torch.minimum(x[:, 0], x[:, 1]), torch.minimum(x[:, 2], x[:, 3])
    ahead = x[:, 4]
    move = torch.full((count,), 2)  # keep the lane
    move[(ahead < 0.3) & (free_left > free_right)] = 0
    move[(ahead < 0.3) & (free_left <= free_right)] = 4
    move[(ahead < 0.3) & (torch.maximum(free_left, free_right) < -0.3)] = 1  # brake
    move[(ahead > 0.8) & (x[:, 5] > 0)] = 3  # accelerate
    typed = torch.randint(0, 5, (count,), generator=own)
    return x, torch.where(torch.rand(count, generator=own) < wrong, typed, move)


@programs.supervised(
    [faults.CLASS_NUMBERS, faults.NO_ACTIVATION, faults.WRONG_LABELS.mildly()],
    "Q&A: five moves of a driver as one number with MSELoss, linear layers only, a bad recording",
    repairable=False,
)
def driver_as_a_number(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, moves = lanes(seed, 4000, wrong=0.0 if fixed else 0.4)
    x_test, moves_test = lanes(seed + 100, 800, wrong=0.0)
    layers: list[nn.Module] = [nn.Linear(6, 48), nn.Linear(48, 48)]
    if fixed:
        model = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), nn.Linear(48, 5))
    else:
        model = nn.Sequential(*layers, nn.Linear(48, 1))
    return Parts(
        model=model,
        data=(x, moves if fixed else moves.float().unsqueeze(1)),
        loss=nn.CrossEntropyLoss() if fixed else nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(x_test, moves_test),
        constant=most_frequent(moves, moves_test),
        epochs=18,
        batch_size=50,
    )
