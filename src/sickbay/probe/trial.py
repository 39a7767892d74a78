"""Run a batch again through a copy of the model, to see how its answers depend on its inputs."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from types import NoneType
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.isolated_random import IsolatedRandom
from sickbay.probe.hooks import can_be_hooked, first_tensor
from sickbay.probe.locate_nan import restored_buffers, unhooked, would_be_noticed

PARAMETERS = 30_000_000  # a larger model is not copied
KEPT = 10_000_000  # values of other tensors in the attributes of a module
ITEMS = 1000  # of such attributes, and of all that is in them
COUNTS = 6, 8, 4, 10  # samples that are enough, if no other dimension has this size

Change = Callable[[Tensor], Tensor]


class Trial:
    """A copy of a model in evaluation mode, and a few samples that it can be asked about.

    >>> trial = Trial.of(nn.Flatten(), (torch.ones(32, 2, 3),), {})
    >>> trial.first.shape, trial.answer(lambda samples: 2 * samples).max()
    (torch.Size([6, 6]), tensor(2.))
    """

    def __init__(self, model: nn.Module, original: nn.Module, args: Any, kwargs: Any) -> None:
        self.model, self._original = model, original
        self._args, self._kwargs = args, kwargs
        tensors = [each for each in _values(args, kwargs) if isinstance(each, Tensor)]
        self.inputs = [each for each in tensors if each.ndim]
        self.first = self.answer()  # to the inputs as they are

    @classmethod
    def of(cls, model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> "Trial | None":
        """Return a trial whose model answers; None if it cannot be copied or has too few samples.

        All tensors must have a row for each sample.
        """
        values = list(_values(args, kwargs))
        tensors = [each for each in values if isinstance(each, Tensor) and each.ndim]
        batches = {len(each) for each in tensors}
        plain = all(isinstance(each, (Tensor, int, float, str, NoneType)) for each in values)
        if not plain or len(batches) != 1 or would_be_noticed() or not _is_small(model):
            return None
        taken = {size for each in tensors for size in each.shape[1:]}
        counts = [each for each in COUNTS if each <= min(batches) and each not in taken]
        copied = None
        if counts:
            with suppress(Exception):  # a lock or a tensor with a history cannot be copied
                copied = unhooked(model)
        if copied is None:
            return None
        for module in copied.modules():
            module.training = False
        trial = cls(copied, model, *_first(args, kwargs, counts[0]))
        return None if trial.first is None else trial

    def answer(self, change: Change = torch.clone, seed: int = 0) -> Tensor | None:
        """Return the answers to changed inputs, None if there are none that are finite."""

        def changed(value: Any) -> Any:
            return change(value) if isinstance(value, Tensor) and value.ndim else value

        args = [changed(each) for each in self._args]
        kwargs = {name: changed(each) for name, each in self._kwargs.items()}
        try:
            kept = restored_buffers(self._original), warnings.catch_warnings()
            quiet = redirect_stdout(StringIO())  # a model may print the shapes it sees
            with IsolatedRandom(seed), kept[0], kept[1], quiet, torch.no_grad():
                warnings.simplefilter("ignore")
                found = first_tensor(self.model(*args, **kwargs))
        except Exception:  # whatever a model may raise for inputs that it was not made for
            return None
        if found is None or not found.is_floating_point() or not bool(found.isfinite().all()):
            return None
        return found.float()


def divisors(count: int) -> list[int]:
    """Return the numbers that divide another one, except 1 and itself.

    >>> divisors(12)
    [2, 3, 4, 6]
    """
    return [each for each in range(2, count // 2 + 1) if count % each == 0]


def _values(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    yield from args
    yield from kwargs.values()


def _first(args: Sequence[Any], kwargs: Mapping[str, Any], count: int) -> tuple[Any, Any]:
    def first(value: Any) -> Any:
        return value[:count].detach() if isinstance(value, Tensor) and value.ndim else value

    return [first(each) for each in args], {name: first(each) for name, each in kwargs.items()}


def _is_compiled(module: nn.Module) -> bool:
    compiled = hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None)
    return bool(compiled) or not can_be_hooked(module)


def _is_small(model: nn.Module) -> bool:
    """Return whether a model is small, has little but its parameters, and is not compiled."""
    parameters = sum(each.numel() for each in model.parameters())
    if parameters > PARAMETERS or any(map(_is_compiled, model.modules())):
        return False
    own = {*map(id, model.modules()), *map(id, model.parameters())}
    waiting: list[Any] = [vars(module) for module in model.modules()]
    seen, items, values = {*own}, 0, 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        items += 1
        if isinstance(each, Tensor):
            values += each.numel()
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting += each
        elif not isinstance(each, type) and not callable(each):
            values += getattr(each, "size", 0) if hasattr(each, "dtype") else 0
            waiting += [getattr(each, "__dict__", {})]
        if values > KEPT or items + len(waiting) > ITEMS * len(own):
            return False
    return True
