"""Find the layer where a NaN began, by running the batch again through a copy of the model."""

import copy
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.isolated_random import IsolatedRandom
from sickbay.probe.additive_masks import is_additive_mask
from sickbay.probe.distributed import is_one_of_several
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import HOOKS, Handles, Hook, can_be_hooked, first_tensor
from sickbay.probe.layer_order import Layers, computes
from sickbay.probe.meter import Meter
from sickbay.probe.statistics import measure, merge
from sickbay.vitals import Kind, Numbers, Table

LARGE = 65_536  # of tensors with more values than this, only the first samples are kept


class NanLocator:
    """Keeps the newest training batch, and finds the first layer that makes a NaN of it.

    By the time a gradient is NaN, the forward pass is over, and measuring every layer at every step
    would cost too much. So the batch runs again: on a copy without hooks, because a forward pass
    may change buffers and hooks may count calls, and with isolated random numbers. It does not run
    where others would notice the second pass all the same.
    """

    def __init__(self, layers: Layers, guard: Guard, meter: Meter) -> None:
        self._layers, self._guard, self._meter = layers, guard, meter
        self.wanted = True  # with a late meter, which keeps samples but runs nothing again
        self._inputs: tuple[Any, Any] | None = None
        self._rows: dict[str, Numbers] = {}
        self._in_batch = False  # the batch itself was not finite
        self._device = next(layers.model.parameters()).device.type
        self._autocast = torch.autocast(self._device, enabled=False)
        self._hooks = Handles()
        if can_be_hooked(layers.model):
            hook = Hook(guard, "batch", self._keep)
            self._hooks.add(layers.model.register_forward_pre_hook(hook, with_kwargs=True))

    def inputs(self) -> list[Tensor]:
        """Return the tensors of the newest batch, without masks that are added to scores."""
        args, kwargs = self.call()
        found = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
        samples = len(found[0]) if found and found[0].ndim else 0
        return [each for each in found if not is_additive_mask(each, samples)]

    def call(self) -> tuple[Any, Any]:
        """Return the arguments of the newest batch, or what is kept of them."""
        return self._inputs or ((), {})

    def take(self) -> None:
        """Measure the activations up to the first layer whose output is not finite."""
        self._rows, self._in_batch = {}, False
        if self._inputs is None:
            return
        floats = [each for each in self.inputs() if each.is_floating_point()]
        if not all(bool(torch.isfinite(each).all()) for each in floats):
            self._rows, self._in_batch = {"input": merge(measure(floats))}, True
            return
        if not would_be_noticed():
            self._run_again(*self._inputs)

    def _run_again(self, args: Any, kwargs: Any) -> None:
        original = self._layers.model
        model = unhooked(original)
        if model is None:
            return
        for name, module in model.named_modules():
            if computes(module) and can_be_hooked(module):
                module.register_forward_hook(partial(self._measure, name))
        kept = IsolatedRandom(), restored_buffers(original)
        with kept[0], kept[1], torch.no_grad(), self._autocast, suppress(_Found):
            model(*args, **kwargs)
            self._rows = {}  # everything was finite this time, which proves nothing

    def _measure(self, name: str, _module: nn.Module, _inputs: Any, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is None:
            return
        is_finite = bool(torch.isfinite(tensor).all())
        if not is_finite or name not in self._rows:
            self._rows[name] = measure([tensor])[0]
        if not is_finite:
            raise _Found

    def collect(self, step: int) -> Table | None:
        """Return the table of the step, None if nothing was found."""
        if not self._rows:
            return None
        rows, self._rows = self._rows, {}
        kind: Kind = "batch" if self._in_batch else "activation"
        return Table(kind, step, tuple(rows), np.stack(list(rows.values())))

    def close(self) -> None:
        self._hooks.remove()
        self._inputs = None

    def _keep(self, model: nn.Module, args: Any, kwargs: Any) -> None:
        if not model.training or not torch.is_grad_enabled():
            return
        if not self._meter.late:
            self._inputs = args, kwargs
        elif self.wanted and not self._meter.blocked:
            values = (*args, *kwargs.values())
            tensors = [each for each in values if isinstance(each, Tensor) and not each.is_sparse]
            self._inputs = tuple(first_samples(tensors)), {}
        if torch.is_autocast_enabled(self._device):
            self._autocast = torch.autocast(self._device, torch.get_autocast_dtype(self._device))


def excerpt(tensor: Tensor) -> Tensor:
    """Return a tensor, or a copy of the first samples if it is large."""
    tensor = tensor.detach()
    if tensor.numel() <= LARGE or not tensor.ndim:
        return tensor
    return tensor[: max(2, LARGE * len(tensor) // tensor.numel())].clone()


def first_samples(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy the same number of first samples of all tensors that have as many as the first one."""
    batch = len(tensors[0]) if tensors and tensors[0].ndim else 0

    def fits(tensor: Tensor) -> bool:
        return bool(tensor.ndim) and len(tensor) == batch

    most = max((each.numel() for each in tensors if fits(each)), default=0)
    rows = batch if most <= LARGE else max(2, LARGE * batch // most)
    detached = [each.detach() for each in tensors]
    return [each[:rows].clone() if fits(each) else each for each in detached]


class _Found(Exception):  # noqa: N818 - not an error: it ends the second pass
    """The layer was found."""


def unhooked(model: nn.Module) -> nn.Module | None:
    """Return a copy of a model without hooks, None if some module copies as itself."""
    copied = copy.deepcopy(model)
    if not set(copied.modules()).isdisjoint(model.modules()):
        return None
    for module in copied.modules():
        for kind in HOOKS:
            vars(module)[kind] = OrderedDict()  # the original may share its dicts
    return copied


def would_be_noticed() -> bool:
    """Return whether other processes or global module hooks would notice a second pass."""
    kinds = ("_global_forward_pre_hooks", "_global_forward_hooks")
    return is_one_of_several() or any(getattr(nn.modules.module, kind, None) for kind in kinds)


@contextmanager
def restored_buffers(model: nn.Module) -> Iterator[None]:
    """Restore the buffers of a model afterwards, since a copy may share them with its original."""
    before = [(each, each._version, each.detach().clone()) for each in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, version, kept in before:
                if buffer._version != version:
                    buffer.copy_(kept)
