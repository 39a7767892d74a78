"""Measure the outputs of layers, by forward hooks that exist only while a reading is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles, Hook, can_be_hooked, first_tensor, is_transformed
from sickbay.probe.layer_order import Layers, computes, has_parameters
from sickbay.probe.meter import Meter
from sickbay.probe.statistics import merge
from sickbay.vitals import COLUMN, Kind, Numbers, Table

SMALL = 65_536  # outputs up to this size are copied and measured together, which is cheaper
MANY = 256  # copies kept before they are measured
SAMPLE = 512  # values of an output measured on a GPU or in a compiled graph
RECTIFIERS = (nn.ReLU, nn.ReLU6, nn.Threshold)  # layers whose units may be silent
CHANNELS_SECOND = (_ConvNd, _NormBase, nn.GroupNorm)
LASTING = 3  # a unit counts as lastingly dead after this many silent readings in a row
DEAD = [COLUMN["dead_units"], COLUMN["lasting_dead"]]


@dataclass(eq=False)
class StepActivations:
    """The activations of one step: a row for each call of a layer, some to be filled in later."""

    rows: list[tuple[str, Numbers]] = field(default_factory=list)
    dead_shares: list[tuple[Numbers, Numbers]] = field(default_factory=list)  # and their row
    sampled: tuple[list[str], Numbers, Numbers] | None = None  # names, rows and counts, from graphs

    def table(self, step: int, order: Iterable[str]) -> Table | None:
        """Return the table of the step, None if no layer was called."""
        for shares, row in self.dead_shares:
            row[DEAD] = shares
        calls: dict[str, list[Numbers]] = {}
        for name, row in (*self.rows, *self._from_graphs()):
            calls.setdefault(name, []).append(row)
        rows = {name: merge(np.stack(calls[name])) for name in order if name in calls}
        return Table.ordered("activation", step, rows, rows) if rows else None

    @property
    def compiled(self) -> bool | None:
        """Whether compiled graphs wrote any samples; None if nobody looked."""
        return None if self.sampled is None else bool(self.sampled[2].any())

    def _from_graphs(self) -> Iterator[tuple[str, Numbers]]:
        for name, row, filled in zip(*self.sampled, strict=True) if self.sampled else ():
            if filled:
                row[COLUMN["nonfinite"]] -= SAMPLE - filled  # short samples are padded with NaN
                yield name, row


class _Output(NamedTuple):
    """An output to be measured, together with others."""

    layer: str
    tensor: Tensor
    unit_dim: int
    dead_shares: Numbers | None = None  # measured already if the tensor is only a sample


class Activations:
    """Measures the activations of a step."""

    kind: Kind = "activation"

    def __init__(self, layers: Layers, guard: Guard, clock: Clock, meter: Meter) -> None:
        self.layers, self.guard, self._clock, self._meter = layers, guard, clock, meter
        self._handles = Handles()
        self._hooks: dict[nn.Module, _LayerHook] = {}
        self._step = StepActivations()
        self._kept: list[_Output] = []
        self._calls: Counter[str] = Counter()
        # How many readings in a row each unit was zero, by layer and its call in the step.
        self._silent_for: dict[tuple[str, int], Tensor] = {}
        self._channels_second: bool | None = None  # unknown before the first layer with weights
        # Whether a graph was compiled with our hooks and would be recompiled without; None: unknown
        self.compiled: bool | None = None
        self.due = False

    @property
    def listens(self) -> bool:
        """Whether any layer is hooked for this step; scripted layers cannot be."""
        return self.due and bool(self._handles)

    def arm(self, due: bool) -> None:
        """Hook every layer if a reading is due, else remove the hooks."""
        self._forget()
        self.due = due and "activation" not in self.guard.off
        if not self.due and self.compiled is False:
            self._handles.remove()
        elif self.due and not self._handles:
            known, self._hooks = self._hooks, {}
            for name, module in self.layers.modules.items():
                if computes(module) and can_be_hooked(module):
                    hook = self._hooks[module] = known.get(module) or _LayerHook(self, module)
                    hook.layer = name
                    self._handles.add(module.register_forward_hook(hook))

    def release(self) -> StepActivations:
        """Return the activations of the step, and start over."""
        self._measure_kept()
        if self.listens and (self.compiled is not False or not self._step.rows):
            self._take_samples(list(self._hooks.values()))
        step = self._step
        self._forget()
        return step

    def close(self) -> None:
        self.compiled = False
        self.arm(False)
        self._hooks.clear()

    def add(self, layer: str, module: nn.Module, output: Any) -> None:
        """Measure one output, or keep a copy for later."""
        with self._clock.timing("activation"):
            tensor = first_tensor(output)
            if tensor is None or not self.due or not self._in_training() or self._meter.blocked:
                return
            tensor, unit_dim = tensor.detach(), self._unit_dim(module, tensor)
            if self._meter.late:
                self._keep_sample(layer, module, tensor, unit_dim)
            elif tensor.numel() <= SMALL:  # a copy, since the next layer may work in place
                self._kept.append(_Output(layer, tensor.clone(), unit_dim))
            else:
                self._measure([_Output(layer, tensor, unit_dim)])
            if len(self._kept) >= MANY:
                self._measure_kept()

    def _keep_sample(self, layer: str, module: nn.Module, tensor: Tensor, unit_dim: int) -> None:
        """Keep a sample of an output on a device, and the shares of dead units in all of it."""
        shares = None
        if unit_dim and isinstance(module, RECTIFIERS):
            silent = all_zero(tensor, unit_dim)
            both = torch.stack([silent.float().mean(), self._lasting(layer, silent)])
            shares = self._meter.numbers(both)
        self._kept.append(_Output(layer, sampled(tensor).clone(), 0, shares))

    def _measure_kept(self) -> None:
        kept, self._kept = self._kept, []
        self._measure(kept)

    def _measure(self, outputs: list[_Output]) -> None:
        rows = self._meter.measure("activation", [each.tensor for each in outputs])
        for (layer, tensor, unit_dim, shares), row in zip(outputs, rows, strict=True):
            if unit_dim:
                # A unit can only be dead if there are as many zeros as it has values.
                some = row[COLUMN["zeros"]] * tensor.shape[unit_dim] >= 1
                silent = all_zero(tensor, unit_dim) if some else torch.zeros(1, dtype=torch.bool)
                row[DEAD] = float(silent.float().mean()), float(self._lasting(layer, silent))
            elif shares is not None:
                self._step.dead_shares.append((shares, row))
            self._step.rows.append((layer, row))

    def _take_samples(self, hooks: list[_LayerHook]) -> None:
        """Measure the samples that compiled graphs have written, and mark them as read."""
        rows = self._meter.measure("sample", [hook.buffer for hook in hooks])
        device = hooks[0].filled.device
        counts = [hook.filled.to(device, non_blocking=True) for hook in hooks]
        filled = self._meter.numbers(torch.stack(counts))
        self._step.sampled = [hook.layer for hook in hooks], rows, filled
        torch._foreach_zero_([hook.filled for hook in hooks])

    def _forget(self) -> None:
        self._step = StepActivations()
        self._kept.clear()
        self._calls.clear()

    def _in_training(self) -> bool:
        in_backward = torch._C._current_graph_task_id() != -1  # checkpointing recomputes layers
        return self.layers.model.training and torch.is_grad_enabled() and not in_backward

    def _lasting(self, layer: str, silent: Tensor) -> Tensor:
        """Return the share of units that have been silent for several readings in a row."""
        key = layer, self._calls[layer]
        self._calls[layer] += 1
        before = self._silent_for.get(key)
        streak = silent.int()
        if before is not None and before.shape == streak.shape:
            streak += before * streak
        self._silent_for[key] = streak
        return (streak >= LASTING).float().mean()

    def _unit_dim(self, module: nn.Module, tensor: Tensor) -> int:
        """Return the dimension of the units: channels of images, features of sequences."""
        if has_parameters(module):
            self._channels_second = isinstance(module, CHANNELS_SECOND)
        if tensor.ndim < 2:
            return 0
        second = tensor.ndim > 3 if self._channels_second is None else self._channels_second
        return 1 if tensor.ndim == 2 or second else -1


class _LayerHook(Hook):
    """The forward hook of one layer.

    A compiled graph may hold tensor operations only. There the hook copies a strided sample of the
    output into a buffer of its own, which becomes part of the graph.
    """

    def __init__(self, owner: Activations, module: nn.Module) -> None:
        super().__init__(owner.guard, "activation", self._on_output)
        parameters = next(module.parameters(), None), next(owner.layers.model.parameters())
        device = next(each.device for each in parameters if each is not None)
        self.owner = owner
        self.layer = ""
        self.buffer = torch.full((SAMPLE,), torch.nan, device=device)
        self.filled = torch.zeros((), dtype=torch.float32, device=device)
        for tensor in (self.buffer, self.filled):  # lets CUDA graphs write to them
            tensor._dynamo_static_input_type = "guarded"  # type: ignore[attr-defined]

    def __call__(self, *args: Any) -> None:
        # Hooks in compiled graphs stay in place: where they have nothing to do, such as in
        # evaluation, they must cost next to nothing.
        if self.owner.due or torch.compiler.is_compiling():
            super().__call__(*args)

    def _on_output(self, module: nn.Module, _inputs: Any, output: Any) -> None:
        if self.owner.layers.model.training and not is_transformed():
            self.owner.add(self.layer, module, output)

    def compiled(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        if not self.owner.due:  # so there are two graphs: one copies samples and one does not
            return
        tensor = first_tensor(output)
        if tensor is None or not torch.is_grad_enabled() or tensor.numel() == 0:
            return
        sample = sampled(tensor.detach())
        count = sample.numel()
        self.buffer[:count].copy_(sample)
        if count < SAMPLE:
            self.buffer[count:].fill_(torch.nan)
        self.filled.fill_(count)


def sampled(tensor: Tensor) -> Tensor:
    """Return evenly spread values of a tensor."""
    if tensor.ndim == 4 and not tensor.is_contiguous():  # avoids a copy of channels-last tensors
        tensor = tensor.permute(0, 2, 3, 1)
    values = tensor.reshape(-1)
    stride = max(1, values.numel() // SAMPLE) | 1  # odd, to meet every column
    return values[::stride][:SAMPLE]


def all_zero(tensor: Tensor, dim: int) -> Tensor:
    """Tell for each unit along `dim` whether it is zero in the whole batch.

    >>> all_zero(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), 1)
    tensor([ True, False])
    """
    with torch.no_grad():
        others = [other for other in range(tensor.ndim) if other != dim % tensor.ndim]
        return (tensor.amax(others) == 0) & (tensor.amin(others) == 0)
