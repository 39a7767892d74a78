"""The loop that faults are put into, and what it sees."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler

from sickbay import inject
from tests.models import mlp

Make = Callable[[nn.Module, Optimizer], AbstractContextManager[Any]]
STEPS = 8


class Seen(NamedTuple):
    """What a loop saw, step by step."""

    losses: list[float]
    norms: list[float]  # of all gradients together, just before the optimizer used them
    gradients: list[dict[str, Tensor]]
    weights: list[dict[str, Tensor]]  # as the forward pass used them
    rates: list[float]  # just after the step


def train(
    make: Make = lambda *_: nullcontext(),
    *,
    build: Callable[[], nn.Module] = mlp,
    optimizer: Callable[..., Optimizer] = AdamW,
    batches: int = 1,
    schedule: Callable[[Optimizer], LRScheduler] | None = None,
) -> Seen:
    """Train a small model from a fixed seed; a step has so many batches."""
    torch.manual_seed(0)
    model = build()
    used = optimizer(model.parameters(), lr=0.01)
    seen = Seen([], [], [], [], [])

    def read(*_: Any) -> None:
        names = dict(model.named_parameters())
        seen.gradients.append({n: p.grad.clone() for n, p in names.items() if p.grad is not None})
        total = torch.stack([each.norm() for each in seen.gradients[-1].values()]).norm()
        seen.norms.append(float(total))

    used.register_step_pre_hook(read)  # before the fault is put in, as a doctor would be
    scheduler = schedule(used) if schedule else None
    with make(model, used):
        for _ in range(STEPS):
            used.zero_grad()
            total = 0.0
            for _ in range(batches):
                loss = nn.functional.cross_entropy(
                    model(torch.randn(6, 8)), torch.randint(0, 4, (6,))
                )
                loss.backward()  # type: ignore[no-untyped-call]
                total += loss.item()
            seen.weights.append({n: p.detach().clone() for n, p in model.named_parameters()})
            used.step()
            seen.rates.append(used.param_groups[0]["lr"])
            seen.losses.append(total)
            if scheduler:
                scheduler.step()
    return seen


def same(one: Seen, other: Seen, steps: int = STEPS) -> bool:
    """Return whether two runs are bit for bit the same for so many steps."""
    return one.losses[:steps] == other.losses[:steps] and all(
        torch.equal(value, other.gradients[step][name])
        for step in range(steps)
        for name, value in one.gradients[step].items()
    )


def hooks_of(model: nn.Module, optimizer: Optimizer) -> int:
    modules: list[Any] = [
        hooks
        for module in model.modules()
        for hooks in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    ]
    parameters: list[Any] = [each._backward_hooks or {} for each in model.parameters()]
    parameters += [each._post_accumulate_grad_hooks or {} for each in model.parameters()]
    steps = [optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks]
    return sum(len(hooks) for hooks in [*modules, *parameters, *steps])


EACH: dict[str, Callable[..., inject.Injection]] = {
    "scale_gradients": lambda model, used, at: inject.scale_gradients(model, used, 20, at=at),
    "nan_gradient": lambda model, used, at: inject.nan_gradient(model, used, at=at),
    "nan_weight": lambda model, used, at: inject.nan_weight(model, used, at=at),
    "nan_batch": lambda model, used, at: inject.nan_batch(model, used, at=at),
    "dead_layer": lambda model, used, at: inject.dead_layer(model, used, layer="2", at=at),
    "raise_learning_rate": lambda _, used, at: inject.raise_learning_rate(used, 100, at=at),
    "scale_inputs": lambda model, used, at: inject.scale_inputs(model, used, 50, at=at),
    "freeze_layer": lambda model, used, at: inject.freeze_layer(model, used, layer="2", at=at),
}  # fmt: skip
every_fault = pytest.mark.parametrize("name", EACH)
