"""One batch: the arguments a model is called with, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from sickbay.checkups.shifted_targets import is_time_first
from sickbay.errors import UsageError
from sickbay.model_copies import tensors_in
from sickbay.printable import error_summary

MAX_DEPTH = 50  # of nested lists
LABELS = ("labels", "label", "targets", "target", "y")  # names of targets in a dict


class Inapplicable(Exception):  # noqa: N818 - not an error: the test is reported as skipped
    """Raised when a test makes no sense for this model or needs something that was not given."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The inputs of a model, and the targets if there are any.

    Attributes:
        args: The positional arguments.
        kwargs: The keyword arguments.
        targets: The targets, None if unknown or not a single tensor.
        nested_targets: Targets made of several tensors, for a loss that takes them as they are.
        sample_dim: The dimension of the inputs that counts samples.
        synthetic_from: The layer that inputs were generated for, "" if they were given.

    >>> batch = Batch.of((torch.rand(8, 3), torch.zeros(8)))
    >>> batch.size, batch.first(2).inputs[0].shape, batch.first(2).targets.shape
    (8, torch.Size([2, 3]), torch.Size([2]))
    """

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    targets: Tensor | None = None
    nested_targets: Any = None
    sample_dim: int = 0
    synthetic_from: str = ""

    @classmethod
    def of(cls, given: Any, dtype: torch.dtype = torch.float32) -> Batch:
        """Return a batch from inputs, (inputs, targets) or a DataLoader.

        Inputs are a tensor, a tuple of arguments or a dict of keyword arguments. In a list or tuple
        of more than two items the last one holds the targets. Arrays in double precision become
        `dtype`, the dtype of the model.
        """

        def converted(value: Any) -> Any:
            return _map(value, lambda array: _to_tensor(array, dtype), np.ndarray)

        if isinstance(given, DataLoader):
            given = _first_batch(given)
        targets = None
        if isinstance(given, tuple | list) and len(given) > 1:
            *inputs, targets = given
            given = inputs[0] if len(inputs) == 1 else tuple(inputs)
        if isinstance(given, Mapping):
            named = {name: converted(value) for name, value in given.items()}
            labels = next((named[name] for name in LABELS if name in named), None)
            batch = cls((), named)._with_targets(labels if targets is None else converted(targets))
        else:
            args = tuple(given) if isinstance(given, tuple | list) else (given,)
            batch = cls(tuple(map(converted, args)))._with_targets(converted(targets))
        batch._check()
        return replace(batch, sample_dim=batch._find_sample_dim())

    @property
    def inputs(self) -> list[Tensor]:
        """All input tensors."""
        inputs = {name: value for name, value in self.kwargs.items() if name not in LABELS}
        return tensors_in([*self.args, inputs])

    @property
    def main(self) -> Tensor:
        """The first input."""
        return self.inputs[0]

    @property
    def tokens(self) -> bool:
        """Whether the first input holds sequences of integers."""
        return not self.main.is_floating_point() and self.main.ndim > 1

    @property
    def size(self) -> int:
        """The number of samples."""
        return int(self.main.shape[self.sample_dim]) if self.main.ndim else 1

    def first(self, count: int) -> Batch:
        """Return the first samples."""
        return self.select(torch.arange(min(count, self.size)))

    def cycle(self, count: int) -> Batch:
        """Return this many samples, starting over where there are fewer."""
        return self.select(torch.arange(count) % self.size)

    def select(self, indices: Tensor) -> Batch:
        """Return some samples, in this order; an index may occur several times."""
        size, main = self.size, self.main

        def select(value: Tensor, dim: int = 0) -> Tensor:
            if value.ndim <= dim or value.shape[dim] != size:
                return value
            return value.index_select(dim, indices.to(value.device))

        def select_input(value: Tensor) -> Tensor:
            """Keep a mask that all samples share, even if it has as many rows as the batch."""
            shared = value.shape == (size, size) and value is not main
            return value if shared and _is_mask(value) else select(value, self.sample_dim)

        def select_target(value: Tensor) -> Tensor:
            """Follow targets that have one value for each position, also in a single row."""
            rows = main.shape[:2]
            if value.ndim and value.shape[0] == rows.numel() != size:
                by_place = value.reshape(*rows, *value.shape[1:])
                return select(by_place, self.sample_dim).flatten(0, 1)
            return select(value, self.sample_dim if value.shape[:2] == rows else 0)

        return self.map_inputs(select_input)._map_targets(select_target)

    def map_inputs(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with a function applied to its inputs."""
        kwargs = {name: _map(value, function) for name, value in self.kwargs.items()}
        return replace(self, args=_map(self.args, function), kwargs=kwargs)

    def with_input(self, old: Tensor, new: Tensor) -> Batch:
        """Return the batch with one of its inputs replaced."""
        return self.map_inputs(lambda value: new if value is old else value)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        move = methodcaller("to", device)
        return self.map_inputs(move)._map_targets(move)

    def require_samples(self) -> Batch:
        """Return the batch, or raise `Inapplicable` unless it holds several separate samples."""
        size, main, dim = self.size, self.main, self.sample_dim
        for value in self.inputs:
            if value is main:
                continue
            pairs = value.ndim == 2 and value.shape[0] == 2 != size
            edges = pairs and not value.is_floating_point()
            if value.layout != torch.strided or tuple(value.shape) == (size, size) or edges:
                raise Inapplicable("the rows of the input are parts of a graph")
            if value.ndim > dim and value.shape[dim] != size and size in value.shape:
                raise Inapplicable("an input counts the samples in another dimension")
        if size < 2:
            raise Inapplicable("the batch has only one sample")
        return self

    def first_if_separate(self, count: int) -> Batch:
        """Return the first samples, or the whole batch if samples cannot be separated."""
        try:
            return self.require_samples().first(count)
        except Inapplicable:
            return self

    def _map_targets(self, function: Callable[[Tensor], Tensor]) -> Batch:
        nested = _map(self.nested_targets, function)
        targets = None if self.targets is None else function(self.targets)
        return replace(self, targets=targets, nested_targets=nested)

    def _with_targets(self, targets: Any) -> Batch:
        if targets is None or isinstance(targets, Tensor):
            return replace(self, targets=targets)
        if not tensors_in(targets):
            given = type(targets).__name__
            raise UsageError(f"targets must be a tensor, or a dict or tuple of them, got {given}.")
        return replace(self, nested_targets=targets)

    def _check(self) -> None:
        if not self.inputs:
            given = ", ".join(type(each).__name__ for each in (*self.args, *self.kwargs.values()))
            raise UsageError(
                "batch must be inputs, (inputs, targets) or a DataLoader, where inputs are a "
                f"tensor, a tuple of arguments or a dict of them; got {given or 'nothing'}."
            )
        if not self.main.numel():
            raise UsageError(f"batch must have samples, got inputs of {tuple(self.main.shape)}.")
        for value in tensors_in([*self.args, dict(self.kwargs), self.targets, self.nested_targets]):
            if value.is_meta:
                raise UsageError("batch must hold values, got a tensor on the meta device.")

    def _find_sample_dim(self) -> int:
        """Return 1 if only the second dimension matches the targets, or time is first, else 0."""
        shape, targets = self.main.shape, self.targets
        if any(is_time_first(each, targets) for each in self.inputs):
            return 1
        if targets is None or not targets.ndim or len(shape) < 3 or shape[0] == targets.shape[0]:
            return 0
        return 1 if shape[1] == targets.shape[0] else 0


def _first_batch(loader: DataLoader[Any]) -> Any:
    try:
        return next(iter(loader))
    except StopIteration:
        raise UsageError("batch must be a DataLoader with at least one batch, got none.") from None
    except Exception as error:  # the data set is the user's code
        raise UsageError(f"The DataLoader raised {error_summary(error)}.") from error


def _map(value: Any, function: Callable[[Any], Any], kind: type = Tensor, depth: int = 0) -> Any:
    """Apply a function to everything of a kind in a nested value."""
    if depth > MAX_DEPTH:
        raise UsageError(f"batch must be nested at most {MAX_DEPTH} deep, got more.")
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, dict):
        return {name: _map(part, function, kind, depth + 1) for name, part in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(_map(part, function, kind, depth + 1) for part in value)
    return value


def _is_mask(value: Tensor) -> bool:
    """Return whether a tensor only says yes or no."""
    return value.dtype == torch.bool or bool((value.isinf() | (value == 0) | (value == 1)).all())


def _to_tensor(array: NDArray[Any], dtype: torch.dtype) -> Any:
    """Return an array of numbers as a tensor."""
    if array.dtype.kind not in "fiub":
        return array
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    try:
        tensor = torch.from_numpy(native)
    except TypeError:  # such as floats of 128 bits
        possible = "arrays of a type that torch has"
        raise UsageError(f"batch must hold {possible}, got {array.dtype}.") from None
    return tensor.to(dtype) if tensor.dtype == torch.float64 else tensor
