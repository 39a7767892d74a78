"""Leaving what is the user's as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch import Generator, nn


@contextmanager
def kept(model: nn.Module) -> Iterator[None]:
    """Put all that a model holds back afterwards, in place, where it cannot be copied."""
    tensors = [*model.parameters(), *model.buffers()]
    values = [each.detach().clone() for each in tensors]
    wanted = [(each, each.requires_grad) for each in model.parameters()]
    held = [(module, _held(module)) for module in model.modules()]
    chances = [
        (each, each.get_state())
        for module, _ in held
        for each in vars(module).values()
        if isinstance(each, Generator)
    ]
    try:
        with without_gradients(model):
            yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
        for each, needed in wanted:
            each.requires_grad_(needed)
        for module, state in held:
            vars(module).clear()
            vars(module).update(state)
        for generator, numbers in chances:
            generator.set_state(numbers)


@contextmanager
def without_gradients(model: nn.Module) -> Iterator[None]:
    """Take the gradients of a model away, and give them back: a loss may reach the model itself."""
    gradients = [(each, each.grad) for each in model.parameters()]
    for each, _ in gradients:
        each.grad = None
    try:
        yield
    finally:
        for each, gradient in gradients:
            each.grad = gradient


def copied(loss: Any) -> Any:
    """Return a loss whose own weights and buffers may change."""
    if not isinstance(loss, nn.Module):
        return loss
    try:
        return copy.deepcopy(loss)
    except Exception:
        return loss


@contextmanager
def as_usual(model: nn.Module) -> Iterator[None]:
    """Examine in the usual modes, whatever those around are, and not compiled."""
    with ExitStack() as modes:
        for device in ("cpu", "cuda"):
            modes.enter_context(torch.autocast(device, enabled=False))
        for each in (torch.inference_mode(False), _stance("force_eager"), without_gradients(model)):
            modes.enter_context(each)
        yield


def compiling() -> Any:
    """Return what allows it to compile, inside."""
    return _stance("default")


def _stance(name: str) -> Any:
    """Return what makes compiled models run so; a torch before 2.6 knows no such thing."""
    return (
        torch.compiler.set_stance(name) if hasattr(torch.compiler, "set_stance") else nullcontext()
    )


def _held(module: nn.Module) -> dict[str, Any]:
    """Return what a module holds; of lists and dicts, hooks among them, what is in them now."""
    return {
        name: copy.copy(value) if isinstance(value, list | dict | set) else value
        for name, value in vars(module).items()
    }
