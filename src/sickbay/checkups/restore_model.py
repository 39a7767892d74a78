"""Keeping the user's model, gradients and loss as they were."""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Generator, Tensor, nn

from sickbay.checkups.unregistered import unregistered


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """Afterwards, restore everything the model holds, in place, as if it had been copied."""
    tensors = [*model.parameters(), *model.buffers(), *unregistered(model).values()]
    values = [each.detach().clone() for each in tensors]
    trainable = [(each, each.requires_grad) for each in model.parameters()]
    attributes = [(module, _attributes(module)) for module in model.modules()]
    generators = [
        (value, value.get_state())
        for _, held in attributes
        for value in held.values()
        if isinstance(value, Generator)
    ]
    try:
        with without_gradients(model.parameters()):
            yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
        for each, requires_grad in trainable:
            each.requires_grad_(requires_grad)
        for module, held in attributes:
            vars(module).clear()
            vars(module).update(held)
        for generator, state in generators:
            generator.set_state(state)


@contextmanager
def without_gradients(tensors: Iterable[Tensor]) -> Iterator[None]:
    """Hide the gradients of tensors for a while: the loss may reach the model itself."""
    gradients = [(each, each.grad) for each in tensors]
    for each, _ in gradients:
        each.grad = None
    try:
        yield
    finally:
        for each, gradient in gradients:
            each.grad = gradient


def copy_loss(loss: Any) -> Any:
    """Return a copy of a loss that is a module, since its weights and buffers may change."""
    if not isinstance(loss, nn.Module):
        return loss
    try:
        return copy.deepcopy(loss)
    except Exception:
        return loss


@contextmanager
def default_modes(model: nn.Module) -> Iterator[None]:
    """Run without autocast, inference mode, compilation and old gradients."""
    with (
        torch.autocast("cpu", enabled=False),
        torch.autocast("cuda", enabled=False),
        torch.inference_mode(False),
        compiler_stance("force_eager"),
        without_gradients(model.parameters()),
    ):
        yield


def compiler_stance(name: str) -> Any:
    """Return a context that sets how compiled models run; does nothing before torch 2.6."""
    known = hasattr(torch.compiler, "set_stance")
    return torch.compiler.set_stance(name) if known else nullcontext()


def _attributes(module: nn.Module) -> dict[str, Any]:
    """Return the attributes of a module, with shallow copies of its collections and hooks."""
    return {
        name: copy.copy(value) if isinstance(value, list | dict | set) else value
        for name, value in vars(module).items()
    }
