"""One batch: the arguments a model is called with, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import DataLoader

from sickbay.checkups.joined_samples import ONE_SAMPLE, is_one_sample, why_joined
from sickbay.checkups.nested_values import mapped, tensors_from_arrays
from sickbay.checkups.separate_samples import are_samples, selected
from sickbay.checkups.shifted_targets import is_time_first
from sickbay.errors import UsageError
from sickbay.model_copies import parts_of, tensors_in
from sickbay.printable import error_summary

LABELS = ("labels", "label", "targets", "target", "y")  # names of targets in a dict
OfList = Callable[[list[Any]], list[Any] | None]


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
        joined: Why samples cannot be taken out, "" if they can.
        listed: Whether the samples are the items of a list.
        squares_shared: Whether all samples share a mask that has as many rows as columns.

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
    joined: str = ""
    listed: bool = False
    squares_shared: bool = True

    @classmethod
    def of(cls, given: Any, dtype: torch.dtype = torch.float32) -> Batch:
        """Return a batch from inputs, (inputs, targets) or a DataLoader.

        Inputs are a tensor, a tuple of arguments or a dict of keyword arguments. In a list or tuple
        of more than two items the last one holds the targets. Arrays in double precision become
        `dtype`, the dtype of the model.
        """

        def converted(value: Any) -> Any:
            return tensors_from_arrays(value, dtype)

        if isinstance(given, DataLoader):
            given = _first_batch(given)
        targets = None
        if _is_collection(given) and len(given) > 1:
            *inputs, targets = given
            given = inputs[0] if len(inputs) == 1 else tuple(inputs)
        targets = converted(targets)
        if isinstance(given, Mapping):
            named = {name: converted(value) for name, value in given.items()}
            batch, held = cls((), named), parts_of(named)
        else:
            args = tuple(given) if _is_collection(given) else (given,)
            if isinstance(given, list) and are_samples(given, targets):
                args = (given,)
            batch, held = cls(tuple(map(converted, args))), parts_of(given)
        if targets is None:
            targets = next((held[name] for name in LABELS if held.get(name) is not None), None)
        batch = batch._with_targets(targets)
        batch._check()
        return batch.with_layout()

    def with_layout(self) -> Batch:
        """Return the batch with what is known about where its samples are."""
        is_one, given = is_one_sample(self.main, self.targets), (*self.args, self.kwargs)
        return replace(
            self,
            sample_dim=self._find_sample_dim(),
            joined=ONE_SAMPLE if is_one else why_joined(given, self.main, self.inputs),
            listed=isinstance(self._first, list) and are_samples(self._first, self.all_targets),
        )

    @property
    def all_targets(self) -> Any:
        """The targets as they were given."""
        return self.targets if self.nested_targets is None else self.nested_targets

    @property
    def inputs(self) -> list[Tensor]:
        """All input tensors."""
        inputs = {name: value for name, value in self.kwargs.items() if name not in LABELS}
        return tensors_in([*self.args, inputs])

    @property
    def main(self) -> Tensor:
        """The first input that is not empty."""
        inputs = self.inputs
        return next((each for each in inputs if each.numel()), inputs[0])

    @property
    def tokens(self) -> bool:
        """Whether the first input holds sequences of integers."""
        return not self.main.is_floating_point() and self.main.ndim > 1

    @property
    def size(self) -> int:
        """The number of samples."""
        if self.listed:
            return len(self._first)
        if self.joined and self.targets is not None and self.targets.ndim:
            return len(self.targets)
        is_one = not self.main.ndim or self.joined == ONE_SAMPLE
        return 1 if is_one else int(self.main.shape[self.sample_dim])

    @property
    def is_plain(self) -> bool:
        """Whether every argument has a row for each sample, so that all can be cut alike."""
        given = [each for each in (*self.args, *self.kwargs.values()) if each is not None]
        return all(
            isinstance(each, Tensor)
            and each.ndim > self.sample_dim
            and each.shape[self.sample_dim] == self.size
            for each in given
        )

    def first(self, count: int) -> Batch:
        """Return the first samples."""
        return self.select(torch.arange(min(count, self.size)))

    def cycle(self, count: int) -> Batch:
        """Return this many samples, starting over where there are fewer."""
        return self.select(torch.arange(count) % self.size)

    def select(self, indices: Tensor) -> Batch:
        """Return some samples, in this order; an index may occur several times.

        If samples cannot be taken out, return all of them.
        """
        return self if self.joined else selected(self, indices)

    def map_inputs(
        self, function: Callable[[Tensor], Tensor], of_list: OfList = lambda _: None
    ) -> Batch:
        """Return the batch with a function applied to its inputs."""

        def changed(value: Any) -> Any:
            return mapped(value, function, of_list=of_list)

        kwargs = {name: changed(value) for name, value in self.kwargs.items()}
        return replace(self, args=tuple(map(changed, self.args)), kwargs=kwargs)

    def with_input(self, old: Tensor, new: Tensor) -> Batch:
        """Return the batch with one of its inputs replaced."""
        return self.map_inputs(lambda value: new if value is old else value)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        move = methodcaller("to", device)
        return self.map_inputs(move).map_targets(move)

    def require_samples(self) -> Batch:
        """Return the batch, or raise `Inapplicable` unless it holds several separate samples."""
        size, main, dim = self.size, self.main, self.sample_dim
        if self.joined or self.listed:
            raise Inapplicable(self.joined or "the samples come in a list")
        for value in self.inputs:
            other = value is not main and value.ndim > dim
            if other and value.shape[dim] != size and size in value.shape:
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

    @property
    def _first(self) -> Any:
        return next(iter((*self.args, *self.kwargs.values())), None)

    def map_targets(
        self, function: Callable[[Tensor], Tensor], of_list: OfList = lambda _: None
    ) -> Batch:
        nested = mapped(self.nested_targets, function, of_list=of_list)
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


def _is_collection(value: Any) -> bool:
    return isinstance(value, tuple | list) and not isinstance(value, PackedSequence)
