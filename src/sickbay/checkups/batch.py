"""One batch, as a model is called with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from sickbay.errors import UsageError
from sickbay.model_copies import tensors_in
from sickbay.printable import error_summary

DEEPEST = 50  # lists in lists
LABELS = ("labels", "label", "targets", "target", "y")  # what a batch that is a dict calls them


@dataclass(frozen=True, eq=False)
class Batch:
    """What a model is called with, and the targets, if there are any.

    Attributes:
        args: The arguments of a call.
        kwargs: Those given by name.
        targets: What is to be learnt, None if that is not known, or not one tensor.
        several: Targets that are several tensors, in a dict or tuple, for a loss that takes them.
        along: The dimension of the inputs that counts samples.
        made_up: What the inputs were made up from, "" if they were given.

    >>> batch = Batch.of((torch.rand(8, 3), torch.zeros(8)))
    >>> batch.size, batch.first(2).inputs[0].shape, batch.first(2).targets.shape
    (8, torch.Size([2, 3]), torch.Size([2]))
    """

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    targets: Tensor | None = None
    several: Any = None
    along: int = 0
    made_up: str = ""

    @classmethod
    def of(cls, given: Any, dtype: torch.dtype = torch.float32) -> Batch:
        """Return what a user has given as a batch: inputs, (inputs, targets) or a DataLoader.

        Inputs are a tensor, a tuple of arguments or a dict of arguments by name. Of a list or
        tuple with more than two the last are the targets. Arrays in double precision become
        `dtype`, that of the model.
        """

        def ready(value: Any) -> Any:
            return _tensors(value, dtype)

        if isinstance(given, DataLoader):
            given = _first_of(given)
        targets = None
        if isinstance(given, tuple | list) and len(given) > 1:
            *inputs, targets = given
            given = inputs[0] if len(inputs) == 1 else tuple(inputs)
        if isinstance(given, Mapping):
            named = {name: ready(value) for name, value in given.items()}
            labels = next((named[each] for each in LABELS if each in named), None)
            made = cls((), named)._with(labels if targets is None else ready(targets))
        else:
            args = tuple(given) if isinstance(given, tuple | list) else (given,)
            made = cls(tuple(map(ready, args)))._with(ready(targets))
        made._check()
        return replace(made, along=made._along())

    @property
    def inputs(self) -> list[Tensor]:
        """All tensors among the inputs."""
        return tensors_in([*self.args, dict(self._fed)])

    @property
    def main(self) -> Tensor:
        """The first input."""
        return self.inputs[0]

    @property
    def tokens(self) -> bool:
        """Whether the model is fed whole numbers, in sequences."""
        return not self.main.is_floating_point() and self.main.ndim > 1

    @property
    def size(self) -> int:
        """How many samples there are."""
        return int(self.main.shape[self.along]) if self.main.ndim else 1

    def first(self, count: int) -> Batch:
        """Return the first samples."""
        return self.rows(torch.arange(min(count, self.size)))

    def rows(self, places: Tensor) -> Batch:
        """Return some samples, in this order; one may be there several times."""
        size, main = self.size, self.main

        def taken(value: Tensor, along: int) -> Tensor:
            if value.ndim <= along or value.shape[along] != size:
                return value
            return value.index_select(along, places.to(value.device))

        def own(value: Tensor) -> Tensor:
            """Leave a mask that all samples share, which may be as long as they are many."""
            shared = value.shape == (size, size) and value is not main
            return value if shared and _is_mask(value) else taken(value, self.along)

        def cut(value: Tensor) -> Tensor:
            return taken(value, 0)

        changed, labels = self.changed(own, floats=False), self.targets
        several = _mapped(self.several, cut)
        return replace(changed, targets=None if labels is None else cut(labels), several=several)

    def changed(self, function: Callable[[Tensor], Tensor], *, floats: bool = True) -> Batch:
        """Return the batch with every input changed, only those of real numbers by default."""

        def each(value: Tensor) -> Tensor:
            return value if floats and not value.is_floating_point() else function(value)

        kwargs = {name: _mapped(value, each) for name, value in self.kwargs.items()}
        return replace(self, args=_mapped(self.args, each), kwargs=kwargs)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""

        def there(value: Tensor) -> Tensor:
            return value.to(device)

        moved, several = self.changed(there, floats=False), _mapped(self.several, there)
        targets = None if self.targets is None else there(self.targets)
        return replace(moved, targets=targets, several=several)

    def _with(self, targets: Any) -> Batch:
        """Return the batch with its targets."""
        if targets is None or isinstance(targets, Tensor):
            return replace(self, targets=targets)
        if not tensors_in(targets):
            given = type(targets).__name__
            raise UsageError(f"targets must be a tensor, or a dict or tuple of them, got {given}.")
        return replace(self, several=targets)

    @property
    def _fed(self) -> Mapping[str, Any]:
        return {name: value for name, value in self.kwargs.items() if name not in LABELS}

    def _check(self) -> None:
        if not self.inputs:
            given = ", ".join(type(each).__name__ for each in (*self.args, *self.kwargs.values()))
            raise UsageError(
                "batch must be inputs, (inputs, targets) or a DataLoader, where inputs are a "
                f"tensor, a tuple of arguments or a dict of them; got {given or 'nothing'}."
            )
        if not self.main.numel():
            raise UsageError(f"batch must have samples, got inputs of {tuple(self.main.shape)}.")
        for each in tensors_in([*self.args, dict(self.kwargs), self.targets, self.several]):
            if each.is_meta:
                raise UsageError("batch must hold values, got a tensor on the meta device.")

    def _along(self) -> int:
        """Tell the dimension of the samples: the second where only that fits the targets."""
        shape, targets = self.main.shape, self.targets
        if targets is None or not targets.ndim or len(shape) < 3 or shape[0] == targets.shape[0]:
            return 0
        return 1 if shape[1] == targets.shape[0] else 0


def _first_of(loader: DataLoader[Any]) -> Any:
    try:
        return next(iter(loader))
    except StopIteration:
        raise UsageError("batch must be a DataLoader with at least one batch, got none.") from None
    except Exception as error:  # its data set is the user's own
        raise UsageError(f"The DataLoader raised {error_summary(error)}.") from error


def _mapped(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Return a nested value with every tensor changed."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        return {name: _mapped(part, function) for name, part in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(_mapped(part, function) for part in value)
    return value


def _is_mask(value: Tensor) -> bool:
    """Tell whether a tensor only says yes and no."""
    return value.dtype == torch.bool or bool((value.isinf() | (value == 0) | (value == 1)).all())


def _tensors(value: Any, dtype: torch.dtype, deep: int = 0) -> Any:
    """Return a value with arrays of numbers as tensors."""
    if deep > DEEPEST:
        raise UsageError(f"batch must be nested at most {DEEPEST} deep, got more.")
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return _tensor(value, dtype)
    if isinstance(value, dict):
        return {name: _tensors(each, dtype, deep + 1) for name, each in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(_tensors(each, dtype, deep + 1) for each in value)
    return value


def _tensor(array: NDArray[Any], dtype: torch.dtype) -> Tensor:
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    try:
        made = torch.from_numpy(native)
    except TypeError:  # as numbers of 128 bits
        possible = "arrays of a type that torch has"
        raise UsageError(f"batch must hold {possible}, got {array.dtype}.") from None
    return made.to(dtype) if made.dtype == torch.float64 else made
