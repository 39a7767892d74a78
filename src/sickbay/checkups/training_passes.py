"""Passes in training: one that is recorded for the tests, and a few that train on one batch."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.checkups.batch import Batch, Inapplicable
from sickbay.checkups.model_losses import ONLY_LOSS
from sickbay.checkups.model_losses import main_output as main_output
from sickbay.model_copies import tensors_in
from sickbay.probe.loss_graph import Origin, origin

VIEWS = ("data", "T", "mT", "H", "mH", "real", "imag")  # attributes that expose the values
METADATA = ("size", "dim", "numel", "__len__", "stride", "type", "is_floating_point", "data_ptr")
Run = Callable[[nn.Module, Batch], Any]
LossOf = Callable[[Any, Batch], Tensor | None]


@dataclass(frozen=True)
class FirstPass:
    """What happened in the pass.

    Attributes:
        main: What is compared with the targets: the logits, or the first tensor. None if the model
            returns only a loss.
        loss: The loss, or the mean square of the output if there is none.
        has_loss: Whether the loss is a real one.
        origin: What the loss is made of, read from its graph.
        gradients: The largest gradient of each trainable parameter, None if it got none.
        operations: For each parameter, the operations that used it or a view of it.
        saved: Bytes saved for backward, without the parameters themselves.
    """

    main: Tensor | None
    loss: Tensor
    has_loss: bool
    origin: Origin = field(repr=False)
    gradients: Mapping[str, float | None] = field(repr=False)
    operations: Mapping[str, set[str]] = field(repr=False)
    saved: int

    @property
    def output(self) -> Tensor:
        """The main output, or `Inapplicable` if the model returns only a loss."""
        if self.main is None:
            raise Inapplicable(ONLY_LOSS)
        return self.main

    @cached_property
    def reached(self) -> frozenset[str]:
        """The parameters that got a gradient other than zero."""
        known = self.gradients.items()
        return frozenset(name for name, each in known if each)

    @cached_property
    def used(self) -> frozenset[str]:
        """The parameters used; a gradient also proves use that no torch operation shows."""
        return self.reached.union(self.operations)


def first_pass(model: nn.Module, batch: Batch, run: Run, loss_of: LossOf) -> FirstPass:
    """Run a model forward and backward; `loss_of` returns None if there is no loss."""
    saved, usage = _SavedBytes(model), ParameterUsage(model)
    with torch.autograd.graph.saved_tensors_hooks(saved, _unchanged):
        with usage:
            raw = run(model, batch)
        given = loss_of(raw, batch)
        try:
            output = main_output(raw).detach()
        except Inapplicable:
            if given is None:
                raise
            output = None
        loss = main_output(raw).float().square().mean() if given is None else scalar(given)
    known = origin(loss.grad_fn) if loss.grad_fn is not None else Origin()
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    trained = {n: each.grad for n, each in model.named_parameters() if each.requires_grad}
    return FirstPass(
        main=output,
        loss=loss.detach(),
        has_loss=given is not None,
        origin=known,
        gradients={
            name: None if each is None else _largest(each) for name, each in trained.items()
        },
        operations=usage.operations,
        saved=saved.bytes,
    )


def training_losses(
    model: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer, run: Run, loss_of: LossOf
) -> Iterator[float]:
    """Yield the loss on one batch, with a training step before each further one.

    It ends when the loss has no gradient.
    """
    while True:
        loss = loss_of(run(model, batch), batch)
        if loss is None:
            return
        yield loss.item()
        if not loss.requires_grad:
            return
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for parameter in model.parameters():
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()
        optimizer.step()


def scalar(loss: Any) -> Tensor:
    """Return a loss without dimensions, or raise `TypeError` unless it is one number.

    >>> scalar(torch.ones(3))
    Traceback (most recent call last):
    TypeError: the loss must be one number, got a tensor of shape (3,)
    """
    if not isinstance(loss, Tensor):
        raise TypeError(f"the loss must be a tensor of one number, got {type(loss).__name__}")
    if loss.numel() != 1:
        raise TypeError(f"the loss must be one number, got a tensor of shape {tuple(loss.shape)}")
    return loss.squeeze() if loss.ndim else loss


def _largest(gradient: Tensor) -> float:
    """Return the largest absolute value, NaN or Inf if there is one."""
    dense = gradient.to_dense().abs()
    return float(dense.max()) if dense.numel() else 0.0


class ParameterUsage(TorchFunctionMode):
    """Records which operations use each parameter."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._names = {id(each): name for name, each in model.named_parameters()}
        self.operations: dict[str, set[str]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        tensors = tensors_in([args, kwargs or {}])
        if not self._reads_metadata(func, name) and all(each.numel() for each in tensors):
            for each in tensors:
                if owner := self._names.get(id(each)) or self._names.get(id(each._base)):
                    self.operations.setdefault(owner, set()).add(name)
        return func(*args, **(kwargs or {}))

    @staticmethod
    def _reads_metadata(func: Any, name: str) -> bool:
        """Return whether an operation reads a property such as the device, but no value."""
        if name == "__get__":
            return getattr(func.__self__, "__name__", "") not in VIEWS
        return name in METADATA or name.startswith("new_") or name.endswith("_like")


class _SavedBytes:
    """Counts the bytes that autograd saves."""

    def __init__(self, model: nn.Module) -> None:
        self._seen = {each.untyped_storage().data_ptr() for each in model.parameters()}
        self.bytes = 0

    def __call__(self, tensor: Tensor) -> tuple[Tensor, int]:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self.bytes += storage.nbytes()
        return tensor, tensor._version


def _unchanged(saved: tuple[Tensor, int]) -> Tensor:
    """Return a saved tensor unless it was changed since; torch checks that only without hooks."""
    tensor, version = saved
    if tensor._version != version:
        shape = tuple(tensor.shape)
        raise RuntimeError(f"a tensor of {shape} that backward needs was changed in place")
    return tensor
