"""One forward and backward pass in training, and all that tests want to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.checkups.batch import Batch
from sickbay.surgery.patient import tensors_in
from sickbay.vitals.graph import Origin, origin


@dataclass(frozen=True)
class FirstPass:
    """What happened in it.

    Attributes:
        output: What is compared with the targets: the logits, or the first tensor.
        loss: The loss, or the mean square of the output where there is none.
        compared: Whether the loss is one that compares with targets.
        origin: What the loss is made of, read from its graph.
        gradients: The gradient of each trainable parameter, None where it got none.
        used: The parameters that some operation has taken.
        saved: Bytes that were kept for backward, but for the parameters themselves.
        seconds: How long it took.
    """

    output: Tensor
    loss: Tensor
    compared: bool
    origin: Origin = field(repr=False)
    gradients: Mapping[str, Tensor | None] = field(repr=False)
    used: frozenset[str] = field(repr=False)
    saved: int
    seconds: float


def first_pass(
    model: nn.Module,
    batch: Batch,
    run: Callable[[nn.Module, Batch], Any],
    judge: Callable[[Any, Batch], Tensor | None],
) -> FirstPass:
    """Run a model forward and backward; `judge` returns the loss, None if there is none."""
    names = {id(each): name for name, each in model.named_parameters()}
    start = perf_counter()
    saving, taken = _Saved(set(names)), _Taken(names)
    with torch.autograd.graph.saved_tensors_hooks(saving, _as_it_is):
        with taken:
            raw = run(model, batch)
        output = main_output(raw)
        given = judge(raw, batch)
        loss = output.float().square().mean() if given is None else given
    known = origin(loss.grad_fn) if loss.grad_fn is not None else Origin()
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    gradients = {name: each.grad for name, each in model.named_parameters() if each.requires_grad}
    return FirstPass(
        output=output.detach(),
        loss=loss.detach(),
        compared=given is not None,
        origin=known,
        gradients=gradients,
        used=frozenset(taken.seen),
        saved=saving.bytes,
        seconds=perf_counter() - start,
    )


def main_output(raw: Any) -> Tensor:
    """Return the tensor of an output that matters: the logits, else the first with dimensions."""
    logits = raw.get("logits") if isinstance(raw, dict) else None
    if isinstance(logits, Tensor):
        return logits
    found = [each for each in tensors_in(raw) if each.is_floating_point() and each.ndim]
    if not found:
        raise TypeError(f"the model puts out no tensor of numbers but {type(raw).__name__}")
    return found[0]


class _Taken(TorchFunctionMode):
    """Notes which parameters some operation takes."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()
        self._names = names
        self.seen: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for each in tensors_in([args, kwargs or {}]):
            if id(each) in self._names and getattr(func, "__name__", "") != "__get__":
                self.seen.add(self._names[id(each)])
        return func(*args, **(kwargs or {}))


class _Saved:
    """Counts what autograd keeps."""

    def __init__(self, own: set[int]) -> None:
        self._own, self._seen = own, set[int]()
        self.bytes = 0

    def __call__(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if id(tensor) not in self._own and storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self.bytes += storage.nbytes()
        return tensor


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor
