"""Bytes that training takes, and those that there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from operator import sub
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sickbay.checkups.unregistered import beside
from sickbay.model_copies import tensors_in
from sickbay.probe.loss_graph import nodes

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

COPIES = {"SGD": 0, "Adagrad": 1, "RMSprop": 1, "ASGD": 1, "Lion": 1, "Muon": 1, "Adafactor": 0}
USUAL = 2  # tensors that an optimizer keeps for each parameter, as Adam does
MANY = 24  # passes until it is sure that something grows


def bytes_of(tensors: Iterable[Tensor]) -> int:
    """Return how much memory tensors take.

    >>> bytes_of([torch.zeros(2, 3), torch.zeros(4, dtype=torch.int64)])
    56
    """
    return sum(each.numel() * each.element_size() for each in tensors)


def kept_by(optimizer: Optimizer) -> int:
    """Return what an optimizer keeps, or will after its first step."""
    held = tensors_in([dict(each) for each in optimizer.state.values()])
    if held:
        return bytes_of(held)
    groups, kind = optimizer.param_groups, type(optimizer).__name__
    return sum(_copies(kind, group) * bytes_of(group["params"]) for group in groups)


def growth(case: Case) -> tuple[int, int]:
    """Return by how much what a model holds grows from pass to pass: bytes, and operations.

    Operations are those that a tensor came from and that are kept for a backward pass. What grows
    only for a while, as a queue, does not count.
    """
    held: list[tuple[int, int]] = []
    with case.patient(training=True) as model:
        for count in range(MANY):
            case.run(model, case.few)
            own = [*model.buffers(), *(each for _, each in beside(model))]
            held.append((bytes_of(own), len(nodes(*(each.grad_fn for each in own)))))
            if count > 1 and not any(_grown(held)):
                break
    return _grown(held)


def _grown(held: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the least growth from one pass to the next."""
    bytes_, count = zip(*held, strict=True)
    return min(map(sub, bytes_[1:], bytes_)), min(map(sub, count[1:], count))


def memory_of(device: torch.device) -> int | None:
    """Return what a device has for us, None if that is not known."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _copies(kind: str, group: Mapping[str, Any]) -> int:
    more = sum(bool(group.get(name)) for name in ("amsgrad", "centered"))
    moving = kind in ("SGD", "RMSprop") and bool(group.get("momentum"))
    return COPIES.get(kind, USUAL) + more + moving
