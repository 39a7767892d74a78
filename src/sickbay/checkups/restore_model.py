"""Keeping the user's model, gradients and loss as they were."""

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from types import CellType
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, UntypedStorage, nn

from sickbay.checkups.held_state import attributes_of, held_by

Undo = Callable[[], object]


@contextmanager
def restored(*owners: Any) -> Iterator[None]:
    """Afterwards, restore everything that models, losses or other owners hold, in place.

    >>> numbers = [1, {2: [3]}]
    >>> with restored(numbers):
    ...     numbers[1][2].append(numbers.pop(0))
    >>> numbers
    [1, {2: [3]}]
    """
    held = held_by(*owners).values()
    tensors = [each for each in held if isinstance(each, Tensor)]
    with ExitStack() as guard:
        for each in (*held, *_memory(tensors)):
            for undo in _ways_back(each):
                guard.callback(undo)
        guard.enter_context(without_gradients(each for each in tensors if each.is_leaf))
        yield


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


def _ways_back(value: Any) -> Iterator[Undo]:
    """Yield functions that give an object the state back that it has now."""
    match value:
        case Tensor():
            yield _way_back_of_tensor(value)
        case UntypedStorage():
            yield _way_back_of_memory(value)
        case list() | deque():
            yield partial(_refill, value, list(value), value.extend)
        case dict() | set():
            before = dict(value) if isinstance(value, dict) else set(value)
            yield partial(_refill, value, before, value.update)
        case CellType():
            with suppress(ValueError):  # it is empty
                yield partial(setattr, value, "cell_contents", value.cell_contents)
        case np.ndarray():
            yield partial(_rewrite, value, value.copy())
        case Generator():
            yield partial(value.set_state, value.get_state())
        case np.random.Generator():
            bits = value.bit_generator
            yield partial(setattr, bits, "state", bits.state)
        case np.random.RandomState():
            yield partial(value.set_state, value.get_state())
        case random.Random():
            yield partial(value.setstate, value.getstate())
    if (attributes := attributes_of(value)) is not None:
        yield partial(_refill, attributes, attributes.copy(), attributes.update)


def _refill(collection: Any, before: Any, add: Callable[[Any], object]) -> None:
    """Give a collection its old items, and leave one alone that still has them."""
    is_dict = isinstance(collection, dict)
    now, then = (list(each.items() if is_dict else each) for each in (collection, before))
    pairs = zip(now, then, strict=False)
    if len(now) != len(then) or not all(_same(one, other) for one, other in pairs):
        collection.clear()
        add(before)


def _same(one: Any, other: Any) -> bool:
    """Return whether two items are the same object, or pairs of the same objects."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other) == 2:
        return one[0] is other[0] and one[1] is other[1]
    return one is other


def _rewrite(array: Any, before: Any) -> None:
    if array.tobytes() != before.tobytes():
        array[...] = before


def _memory(tensors: Iterable[Tensor]) -> list[UntypedStorage]:
    """Return the memory of tensors, once where several share it."""
    found = {}
    for each in tensors:
        if not each.is_meta:
            with suppress(RuntimeError):  # a sparse one has none of its own
                found[each.untyped_storage().data_ptr()] = each.untyped_storage()
    return list(found.values())


def _way_back_of_memory(storage: UntypedStorage) -> Undo:
    saved = _bytes(storage).clone()

    def undo() -> None:
        if storage.nbytes() < len(saved):
            storage.resize_(len(saved))
        now = _bytes(storage)[: len(saved)]
        if not now.equal(saved):  # memory that may only be read is left alone
            now.copy_(saved)

    return undo


def _bytes(storage: UntypedStorage) -> Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _way_back_of_tensor(tensor: Tensor) -> Undo:
    """Return a function that restores which memory a tensor shows, and whether it is trained."""
    alias, leaf, trained = tensor.data, tensor.is_leaf, tensor.requires_grad

    def undo() -> None:
        if _layout(tensor) != _layout(alias):
            tensor.data = alias
        with suppress(RuntimeError):  # some views do not tell
            if leaf and not tensor.is_leaf:
                tensor.detach_()
            if leaf and tensor.requires_grad is not trained:
                tensor.requires_grad_(trained)

    return undo


def _layout(tensor: Tensor) -> tuple[object, ...]:
    strided = tensor.layout == torch.strided and not tensor.is_meta
    place = (tensor.data_ptr(), tensor.stride()) if strided else ()
    return tensor.shape, tensor.dtype, tensor.device, *place
