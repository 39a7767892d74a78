"""Longer than 60 lines: it also measures what optimizers keep and what models accumulate."""

import os
from collections.abc import Iterable, Sequence
from operator import sub
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.unregistered import plain_tensors
from sickbay.model_copies import tensors_in
from sickbay.probe.loss_graph import nodes

GIGABYTE = 1e9
LEAK = "keep .item() or .detach() of what is logged, and clear lists"
USUAL_STATE = 2.0  # bytes that an optimizer keeps for each byte of parameters, as Adam does
MOST_PASSES = 24  # until growth is certain


@dataclass(frozen=True, kw_only=True)
class MemoryIsBounded(Statement):
    """A training step fits into the memory of the device.

    Why it matters:
        A step that does not fit ends the training, or makes it very slow.

    How it is tested:
        Parameters, buffers, gradients, optimizer state and what autograd saves are added up. The
        saved activations are measured with a few samples and scaled to the given batch. This is an
        estimate that leaves out temporary memory. The memory that the model itself holds must not
        grow from pass to pass.
    """

    order = 4
    severity = "warning"
    remedy = "lower the batch size, use mixed precision or torch.utils.checkpoint"

    limit: float = threshold(0.0, "Limit in gigabytes; 0 means the memory of the device.", least=0)

    def examine(self, setup: ModelSetup) -> Result:
        first, size = setup.first_pass, setup.full_batch.size
        bytes_, operations = _growth(setup)
        if max(bytes_, operations) > 0:
            what = f"{bytes_ / 1e3:.3g} kB" if bytes_ > 0 else f"{operations} operations"
            message = f"the model holds {what} more after every pass of 2 samples"
            return self.fails(message, remedy=LEAK, growth=bytes_)
        trained = [each for each in setup.model.parameters() if each.requires_grad]
        optimizer = setup.optimizer if setup.has_optimizer else None
        parts = {
            "weights": _bytes([*setup.model.parameters(), *setup.model.buffers()]),
            "gradients": _bytes(trained),
            "state": _state_bytes(optimizer) if optimizer else USUAL_STATE * _bytes(trained),
            "saved": first.saved / setup.batch.size * size,
        }
        numbers: dict[str, Any] = {name: each / GIGABYTE for name, each in parts.items()}
        total, limit = sum(numbers.values()), self.limit or _device_gigabytes(setup)
        name = type(optimizer).__name__ if optimizer else "Adam (no optimizer was given)"
        message = (
            f"a step with {size} samples needs about {total:.2g} GB: weights "
            f"{numbers['weights']:.2g}, gradients {numbers['gradients']:.2g}, {name} "
            f"{numbers['state']:.2g}, activations {numbers['saved']:.2g} (limit {limit:.3g} GB)"
        )
        numbers |= {"total": total, "limit": limit}
        return self.fails(message, **numbers) if total > limit else self.holds(message, **numbers)


def _bytes(tensors: Iterable[Tensor]) -> int:
    """Return the memory that tensors take.

    >>> _bytes([torch.zeros(2, 3), torch.zeros(4, dtype=torch.int64)])
    56
    """
    return sum(each.numel() * each.element_size() for each in tensors)


def _state_bytes(optimizer: Optimizer) -> float:
    """Return the memory that an optimizer keeps, or will keep after its first step."""
    state = tensors_in([dict(each) for each in optimizer.state.values()])
    if state:
        return _bytes(state)
    groups = optimizer.param_groups
    return sum(_state_ratio(optimizer, group) * _bytes(group["params"]) for group in groups)


def _state_ratio(optimizer: Optimizer, group: dict[str, Any]) -> float:
    """Return the bytes kept for each byte of parameters, measured with a step of a small copy."""
    parameter = torch.nn.Parameter(torch.zeros(64, 64))
    parameter.grad = torch.zeros_like(parameter)
    try:
        small = type(optimizer)([{**group, "params": [parameter]}])  # type: ignore[call-arg]
        small.step()
        state = tensors_in([dict(each) for each in small.state.values()])
    except Exception:
        return USUAL_STATE
    return _bytes(each for each in state if each.ndim) / _bytes([parameter])


def _growth(setup: ModelSetup) -> tuple[int, int]:
    """Return how much the model grows from pass to pass, in bytes and in operations.

    Operations are those kept for a backward pass by tensors that the model holds. What grows only
    for a while, such as a queue, does not count.
    """
    held: list[tuple[int, int]] = []
    with setup.model_copy(training=True) as model:
        for count in range(MOST_PASSES):
            setup.run(model, setup.two_samples)
            own = [*model.buffers(), *(each for _, each in plain_tensors(model))]
            held.append((_bytes(own), len(nodes(*(each.grad_fn for each in own)))))
            if count > 1 and not any(_least_growth(held)):
                break
    return _least_growth(held)


def _least_growth(held: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the least growth from one pass to the next."""
    bytes_, count = zip(*held, strict=True)
    return min(map(sub, bytes_[1:], bytes_)), min(map(sub, count[1:], count))


def _device_gigabytes(setup: ModelSetup) -> float:
    device = setup.full_batch.main.device
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return (free + torch.cuda.memory_reserved(device)) / GIGABYTE
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIGABYTE
    except (AttributeError, ValueError, OSError):
        raise Inapplicable("the memory of this machine is unknown: give a limit") from None
