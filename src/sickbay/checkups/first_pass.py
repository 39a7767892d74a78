"""One forward and backward pass in training, and all that tests want to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.checkups.batch import Batch
from sickbay.model_copies import tensors_in
from sickbay.probe.loss_graph import Origin, origin

VIEWS = (
    "data",
    "T",
    "mT",
    "H",
    "mH",
    "real",
    "imag",
)  # attributes of a tensor that hold its values
LOOKS = ("size", "dim", "numel", "__len__", "stride", "type", "is_floating_point", "data_ptr")


@dataclass(frozen=True)
class FirstPass:
    """What happened in it.

    Attributes:
        output: What is compared with the targets: the logits, or the first tensor.
        loss: The loss, or the mean square of the output where there is none.
        compared: Whether the loss is one that compares with targets.
        origin: What the loss is made of, read from its graph.
        gradients: The gradient of each trainable parameter, None where it got none.
        taken: The operations that have taken a parameter, or a view of it, by its name.
        saved: Bytes that were kept for backward, but for the parameters themselves.
        seconds: How long it took.
    """

    output: Tensor
    loss: Tensor
    compared: bool
    origin: Origin = field(repr=False)
    gradients: Mapping[str, Tensor | None] = field(repr=False)
    taken: Mapping[str, set[str]] = field(repr=False)
    saved: int
    seconds: float

    @cached_property
    def reached(self) -> frozenset[str]:
        """The parameters that got a gradient other than zero."""
        known = self.gradients.items()
        return frozenset(name for name, each in known if each is not None and each.any())

    @cached_property
    def used(self) -> frozenset[str]:
        """The parameters that take part; a gradient tells of what no operation of torch shows."""
        return self.reached.union(self.taken)


def first_pass(
    model: nn.Module,
    batch: Batch,
    run: Callable[[nn.Module, Batch], Any],
    judge: Callable[[Any, Batch], Tensor | None],
) -> FirstPass:
    """Run a model forward and backward; `judge` returns the loss, None if there is none."""
    start = perf_counter()
    saving, taken = _Saved(model), Taken(model)
    with torch.autograd.graph.saved_tensors_hooks(saving, _unchanged):
        with taken:
            raw = run(model, batch)
        output = main_output(raw)
        given = judge(raw, batch)
        loss = output.float().square().mean() if given is None else number(given)
    known = origin(loss.grad_fn) if loss.grad_fn is not None else Origin()
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    gradients = {n: gradient(each) for n, each in model.named_parameters() if each.requires_grad}
    return FirstPass(
        output=output.detach(),
        loss=loss.detach(),
        compared=given is not None,
        origin=known,
        gradients=gradients,
        taken=taken.by,
        saved=saving.bytes,
        seconds=perf_counter() - start,
    )


def gradient(parameter: nn.Parameter) -> Tensor | None:
    """Return the gradient of a parameter, also of a sparse embedding, None if it got none."""
    found = parameter.grad
    return found.to_dense() if found is not None and found.is_sparse else found


def main_output(raw: Any) -> Tensor:
    """Return the tensor of an output that matters: the logits, else the first with dimensions."""
    logits = part(raw, "logits")
    if logits is not None:
        return logits
    found = [each for each in tensors_in(raw) if each.is_floating_point() and each.ndim]
    if found:
        return found[0]
    if isinstance(raw, Tensor) or part(raw, "loss") is not None:
        raise TypeError("the model puts out nothing but a loss: its answers are to be examined")
    raise TypeError(f"the model puts out no tensor of numbers but {type(raw).__name__}")


def part(raw: Any, name: str) -> Tensor | None:
    """Return a part of an output that is a dict or an object, None if it has none."""
    found = raw.get(name) if isinstance(raw, dict) else getattr(raw, name, None)
    return found if isinstance(found, Tensor) else None


def number(loss: Any) -> Tensor:
    """Return a loss, or say that it is none.

    >>> number(torch.ones(3))
    Traceback (most recent call last):
    TypeError: the loss must be one number, got a tensor of shape (3,)
    """
    if not isinstance(loss, Tensor):
        raise TypeError(f"the loss must be a tensor of one number, got {type(loss).__name__}")
    if loss.numel() != 1:
        raise TypeError(f"the loss must be one number, got a tensor of shape {tuple(loss.shape)}")
    return loss.squeeze() if loss.ndim else loss


class Taken(TorchFunctionMode):
    """Notes which parameters are taken, and by which operations."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._names = {id(each): name for name, each in model.named_parameters()}
        self.by: dict[str, set[str]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        tensors = tensors_in([args, kwargs or {}])
        if not self._looks(func, name) and all(each.numel() for each in tensors):
            for each in tensors:
                if owner := self._names.get(id(each)) or self._names.get(id(each._base)):
                    self.by.setdefault(owner, set()).add(name)
        return func(*args, **(kwargs or {}))

    @staticmethod
    def _looks(func: Any, name: str) -> bool:
        """Tell whether only a property is asked for, as the device, and no value."""
        if name == "__get__":
            return getattr(func.__self__, "__name__", "") not in VIEWS
        return name in LOOKS or name.startswith("new_") or name.endswith("_like")


class _Saved:
    """Counts what autograd keeps."""

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
    """Return a tensor that was saved, if it still is what it was: torch checks it without hooks."""
    tensor, version = saved
    if tensor._version != version:
        raise RuntimeError(
            f"a tensor of {tuple(tensor.shape)} that backward needs was changed in place"
        )
    return tensor
