"""A loop in its simplest form, watched at every step, and what its doctor has read."""

from typing import Any

import torch
from torch import Tensor, nn

import sickbay
from sickbay.doctor import Doctor
from sickbay.vitals import Table


def watch(model: nn.Module, optimizer: Any = None, **options: Any) -> Doctor:
    return sickbay.watch(model, optimizer, **{"every": 1, "on_finding": "silent", **options})


def backward(loss: Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def learn(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Tensor) -> Tensor:
    """Make one step towards outputs of zero; return the loss."""
    optimizer.zero_grad()
    loss: Tensor = model(inputs).square().mean()
    backward(loss)
    optimizer.step()
    return loss


def true_norm(model: nn.Module) -> float:
    norms = [p.grad.double().norm() for p in model.parameters() if p.grad is not None]
    return float(torch.stack(norms).norm())


def table(doctor: Doctor, kind: Any) -> Table:
    found = doctor.history.table(kind)
    assert found is not None
    return found


def undisturbed(doctor: Doctor) -> bool:
    return not doctor._guard.off and not [e for e in doctor.events if e.kind == "trouble"]
