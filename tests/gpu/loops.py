"""Loops on a CUDA device, and the marks of all tests that need one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import sickbay
from sickbay.vitals import Kind, Table

ON_A_GPU = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings(  # what torch says of itself
        "ignore:Synchronization debug mode is a prototype feature",  # which finds what waits
        "ignore:`torch.jit.script_method` is deprecated",  # while compiling
        "ignore:TensorFloat32 tensor cores",  # while compiling for a device that has them
        "ignore:The CUDA Graph is empty",  # it captures one to reserve memory
    ),
]


def model(width: int = 64) -> Any:
    torch.manual_seed(0)
    layers = [nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.LayerNorm(width), nn.Linear(width, 4)).cuda()


@cache
def batch(step: int) -> tuple[Tensor, Tensor]:
    own = torch.Generator().manual_seed(step)
    x, y = torch.randn(32, 16, generator=own), torch.randint(4, (32,), generator=own)
    return x.cuda(), y.cuda()


def train(net: Any, optimizer: Any, doctor: Any, steps: int, *, first: int = 0) -> list[Tensor]:
    losses = []
    for step in range(first, first + steps):
        x, y = batch(step % 8)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if doctor is not None:
            doctor.step(loss)
        losses.append(loss.detach())
    return losses


def table_of(doctor: sickbay.Doctor, kind: Kind) -> Table:
    table = doctor.history.table(kind)
    assert table is not None
    return table
