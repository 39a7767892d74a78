"""Finding where a NaN began: the batch is run once more, through a copy of the model."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.isolated_random import IsolatedRandom
from sickbay.probe.distributed import is_one_of_several
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles, Hook, can_be_hooked, first_tensor
from sickbay.probe.layer_order import Layers, computes
from sickbay.probe.merge_statistics import merge
from sickbay.probe.meter import Meter
from sickbay.probe.statistics import measure
from sickbay.vitals import Kind, Numbers, Table

HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
LARGE = 65_536  # values of a tensor above which only the first samples are kept


class NanLocator:
    """Keeps the newest training batch at hand, and can say what it makes of each layer.

    When a gradient is NaN the forward pass is over, and reading every layer at every step just in
    case would cost too much. So the batch is run again: on a copy without hooks, because a forward
    pass may change buffers and hooks may keep count, and with all random states put back. Where
    others would notice all the same, it is not run.
    """

    kind: Kind = "activation"
    due = False  # it is never planned

    def __init__(self, layers: Layers, guard: Guard, meter: Meter) -> None:
        self._layers, self._guard, self._meter = layers, guard, meter
        self.wanted = True  # a late meter cannot run a batch again: it only keeps some samples
        self._inputs: tuple[Any, Any] | None = None
        self._rows: dict[str, Numbers] = {}
        self._in_batch = False  # what is not finite came with the batch
        self._device = next(layers.model.parameters()).device.type
        self._autocast = torch.autocast(self._device, enabled=False)
        self._hooks = Handles()
        if can_be_hooked(layers.model):
            hook = Hook(guard, "batch", self._keep)
            self._hooks.add(layers.model.register_forward_pre_hook(hook, with_kwargs=True))

    def inputs(self) -> list[Tensor]:
        """Return the tensors of the newest batch."""
        args, kwargs = self._inputs or ((), {})
        return [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]

    def take(self) -> None:
        """Measure the activations up to the first layer that puts out something not finite."""
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
        model = copy.deepcopy(original)
        if not set(model.modules()).isdisjoint(original.modules()):
            return  # what copies as itself would keep the listeners
        for name, module in model.named_modules():
            drop_hooks(module)
            if computes(module) and can_be_hooked(module):
                module.register_forward_hook(_Listener(name, self._rows))
        states = IsolatedRandom(), buffers_kept(original)
        with states[0], states[1], torch.no_grad(), self._autocast, suppress(_Found):
            model(*args, **kwargs)
            self._rows = {}  # this time all was finite: that proves nothing

    def collect(self, step: int) -> Table | None:
        """Return what was taken as the table of the step, None if nothing was."""
        if not self._rows:
            return None
        rows, self._rows = self._rows, {}
        kind: Kind = "batch" if self._in_batch else "activation"
        return Table(kind, step, tuple(rows), np.stack(list(rows.values())))

    def close(self) -> None:
        self._hooks.remove()
        self._inputs = None

    def _keep_some(self, args: Any, kwargs: Any) -> None:
        values = (*args, *kwargs.values())
        tensors = [each for each in values if isinstance(each, Tensor) and not each.is_sparse]
        self._inputs = tuple(first_samples(tensors)), {}

    def _keep(self, model: nn.Module, args: Any, kwargs: Any) -> None:
        if not model.training or not torch.is_grad_enabled():
            return
        if not self._meter.late:
            self._inputs = args, kwargs
        elif self.wanted and not self._meter.blocked:
            self._keep_some(args, kwargs)
        if torch.is_autocast_enabled(self._device):
            self._autocast = torch.autocast(self._device, torch.get_autocast_dtype(self._device))


def excerpt(tensor: Tensor) -> Tensor:
    """Return the values of a tensor; of a large one a copy of the first samples."""
    tensor = tensor.detach()
    if tensor.numel() <= LARGE or not tensor.ndim:
        return tensor
    return tensor[: max(2, LARGE * len(tensor) // tensor.numel())].clone()


def first_samples(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return copies of the first samples of tensors, of all the same number where they match."""
    batch = len(tensors[0]) if tensors and tensors[0].ndim else 0
    fitting = [each for each in tensors if each.ndim and len(each) == batch]
    most = max((each.numel() for each in fitting), default=0)
    rows = batch if most <= LARGE else max(2, LARGE * batch // most)
    return [
        each.detach()[:rows].clone() if each.ndim and len(each) == batch else each.detach()
        for each in tensors
    ]


class _Found(Exception):  # noqa: N818 - no error: it ends the replay
    """The layer was found."""


class _Listener:
    def __init__(self, name: str, rows: dict[str, Numbers]) -> None:
        self.name, self.rows = name, rows

    def __call__(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is None:
            return
        is_finite = bool(torch.isfinite(tensor).all())
        if not is_finite or self.name not in self.rows:
            self.rows[self.name] = measure([tensor])[0]
        if not is_finite:
            raise _Found


def would_be_noticed() -> bool:
    """Tell whether a second pass would be seen: by other processes, or hooks of every module."""
    kinds = ("_global_forward_pre_hooks", "_global_forward_hooks")
    return is_one_of_several() or any(getattr(nn.modules.module, kind, None) for kind in kinds)


def drop_hooks(module: nn.Module) -> None:
    """Take every hook from a module that is a copy; its original may hold the same dicts."""
    for kind in HOOKS:
        vars(module)[kind] = OrderedDict()


@contextmanager
def buffers_kept(model: nn.Module) -> Iterator[None]:
    """Put the buffers of a model back afterwards: a copy may share them with its original."""
    before = [(each, each._version, each.detach().clone()) for each in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, version, kept in before:
                if buffer._version != version:
                    buffer.copy_(kept)
