"""Reading what layers put out, by forward hooks that are only there when a reading is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles, Hook, can_be_hooked, first_tensor, is_transformed
from sickbay.probe.layer_order import Layers, computes
from sickbay.probe.merge_statistics import merge
from sickbay.probe.meter import Meter
from sickbay.vitals import COLUMN, Kind, Numbers, Table

SMALL = 65_536  # outputs up to this size are kept aside and measured together, which is cheaper
MANY = 256  # copies that are kept at the most
SAMPLE = 512  # values of an output that are measured on a GPU, or in a compiled graph
RECTIFIERS = (nn.ReLU, nn.ReLU6, nn.Threshold)  # what can be silent on purpose
LASTING = 3  # readings in a row a unit must be silent in

CHANNELS_SECOND = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm")


@dataclass(eq=False)
class StepActivations:
    """What layers put out in one step: a row for each call; some of it may come later."""

    rows: list[tuple[str, Numbers]] = field(default_factory=list)
    silent: list[tuple[Numbers, Numbers]] = field(default_factory=list)  # shares, and their row
    sampled: tuple[list[str], Numbers, Numbers] | None = None  # what compiled graphs have left

    def table(self, step: int, order: Iterable[str]) -> Table | None:
        """Return the table of the step, None if nothing was heard."""
        for shares, row in self.silent:
            row[[COLUMN["dead_units"], COLUMN["lasting_dead"]]] = shares
        rows: dict[str, list[Numbers]] = {}
        for name, row in (*self.rows, *self._of_graphs()):
            rows.setdefault(name, []).append(row)
        names = tuple(name for name in order if name in rows)
        if not names:
            return None
        values = np.stack([merge(np.stack(rows[name])) for name in names])
        return Table("activation", step, names, values)

    @property
    def compiled(self) -> bool | None:
        """Whether compiled graphs have left anything, as far as that was looked for."""
        return None if self.sampled is None else bool(self.sampled[2].any())

    def _of_graphs(self) -> Iterator[tuple[str, Numbers]]:
        """Yield the rows of the samples that were filled; what is missing to full ones is NaN."""
        for name, row, filled in zip(*self.sampled, strict=True) if self.sampled else ():
            if filled:
                row[COLUMN["nonfinite"]] -= SAMPLE - filled
                yield name, row


class Activations:
    """Takes the activations of a step."""

    kind: Kind = "activation"

    def __init__(self, layers: Layers, guard: Guard, clock: Clock, meter: Meter) -> None:
        self.layers, self.guard, self._clock, self._meter = layers, guard, clock, meter
        self._hooks = Handles()
        self._listeners: dict[nn.Module, _Listener] = {}
        self._taken = StepActivations()
        self._kept: list[tuple[str, Tensor, int]] = []
        self._calls: Counter[str] = Counter()
        # How many readings each unit was zero in, in a row, by layer and its call in the step.
        self._silent_for: dict[tuple[str, int], Tensor] = {}
        self._channels_second: bool | None = None  # not known before the first layer with weights
        # Whether a graph holds our hooks, and would be compiled anew without them; None: unknown.
        self.compiled: bool | None = None
        self._shares: dict[int, Numbers] = {}  # of silent units, by the place of what is kept
        self.due = False

    @property
    def listens(self) -> bool:
        """Whether layers are to be heard; scripted ones alone cannot be."""
        return self.due and bool(self._hooks)

    def arm(self, due: bool) -> None:
        """Hook every layer, or unhook them all."""
        self._forget()
        self.due = due and "activation" not in self.guard.off
        if not self.due and self.compiled is False:
            self._hooks.remove()
        elif self.due and not self._hooks:
            known, self._listeners = self._listeners, {}
            for name, module in self.layers.modules.items():
                if computes(module) and can_be_hooked(module):
                    listener = known.get(module) or _Listener(self, module)
                    listener.name = name
                    self._listeners[module] = listener
                    self._hooks.add(module.register_forward_hook(listener))

    def release(self) -> StepActivations:
        """Return what was heard, and begin anew."""
        self._measure_kept()
        if self.due and self._hooks and (self.compiled is not False or not self._taken.rows):
            self._take_samples(list(self._listeners.values()))
        taken = self._taken
        self._forget()
        return taken

    def close(self) -> None:
        self.compiled = False
        self.arm(False)
        self._listeners.clear()

    def hear(self, name: str, module: nn.Module, output: Any) -> None:
        """Measure one output, or keep a copy of it for later."""
        with self._clock.timing("activation"):
            tensor = first_tensor(output)
            if tensor is None or not self.due or not self._in_training() or self._meter.blocked:
                return
            tensor, unit_dim = tensor.detach(), self._unit_dim(module, tensor)
            if self._meter.late:
                self._sample(name, module, tensor, unit_dim)
            elif tensor.numel() <= SMALL:  # a copy, since the next layer may work in place
                self._kept.append((name, tensor.clone(), unit_dim))
            else:
                self._add(name, tensor, unit_dim, self._meter.measure("activation", [tensor])[0])
            if len(self._kept) >= MANY:
                self._measure_kept()

    def _sample(self, name: str, module: nn.Module, tensor: Tensor, unit_dim: int) -> None:
        """Keep a sample of an output on a device, and which units were silent in all of it."""
        self._kept.append((name, sampled(tensor).clone(), 0))
        if unit_dim and isinstance(module, RECTIFIERS):
            silent = all_zero(tensor, unit_dim)
            shares = torch.stack([silent.float().mean(), self._lasting(name, silent)])
            self._shares[len(self._kept) - 1] = self._meter.numbers(shares)

    def _measure_kept(self) -> None:
        kept, self._kept = self._kept, []
        rows = self._meter.measure("activation", [tensor for _, tensor, _ in kept])
        for place, ((name, tensor, unit_dim), row) in enumerate(zip(kept, rows, strict=True)):
            self._add(name, tensor, unit_dim, row)
            if place in self._shares:
                self._taken.silent.append((self._shares[place], row))
        self._shares.clear()

    def _take_samples(self, listeners: list[_Listener]) -> None:
        """Measure what compiled graphs have left, and mark it as taken."""
        values = self._meter.measure("sample", [each.buffer for each in listeners])
        there = listeners[0].filled.device
        counts = [each.filled.to(there, non_blocking=True) for each in listeners]
        filled = self._meter.numbers(torch.stack(counts))
        self._taken.sampled = [each.name for each in listeners], values, filled
        torch._foreach_zero_([each.filled for each in listeners])

    def _forget(self) -> None:
        self._taken = StepActivations()
        self._kept.clear()
        self._shares.clear()
        self._calls.clear()

    def _in_training(self) -> bool:
        in_backward = torch._C._current_graph_task_id() != -1  # checkpointing computes it again
        return self.layers.model.training and torch.is_grad_enabled() and not in_backward

    def _add(self, name: str, tensor: Tensor, unit_dim: int, row: Numbers) -> None:
        if unit_dim:
            # Else there is not even one unit's worth of zeros.
            some = row[COLUMN["zeros"]] * tensor.shape[unit_dim] >= 1
            silent = all_zero(tensor, unit_dim) if some else torch.zeros(1, dtype=torch.bool)
            row[COLUMN["dead_units"]] = float(silent.float().mean())
            row[COLUMN["lasting_dead"]] = float(self._lasting(name, silent))
        self._taken.rows.append((name, row))

    def _lasting(self, name: str, silent: Tensor) -> Tensor:
        """Return the share of units that have been silent for some readings."""
        key = name, self._calls[name]
        self._calls[name] += 1
        before = self._silent_for.get(key)
        streak = silent.int()
        if before is not None and before.shape == streak.shape:
            streak += before * streak
        self._silent_for[key] = streak
        return (streak >= LASTING).float().mean()

    def _unit_dim(self, module: nn.Module, tensor: Tensor) -> int:
        """Return the dimension of the units: channels of images, features of sequences."""
        if next(module.parameters(recurse=False), None) is not None:
            self._channels_second = type(module).__name__.startswith(CHANNELS_SECOND)
        if tensor.ndim < 2:
            return 0
        second = tensor.ndim > 3 if self._channels_second is None else self._channels_second
        return 1 if tensor.ndim == 2 or second else -1


class _Listener(Hook):
    """The forward hook of one layer.

    In a compiled graph nothing but tensor operations may happen: there it copies a strided sample
    of the output into a buffer of its own, which becomes part of the graph.
    """

    def __init__(self, owner: Activations, module: nn.Module) -> None:
        super().__init__(owner.guard, "activation", self._hear)
        parameter = next(module.parameters(), None)
        if parameter is None:
            parameter = next(owner.layers.model.parameters())
        device = parameter.device
        self.owner = owner
        self.name = ""
        self.buffer = torch.full((SAMPLE,), torch.nan, device=device)
        self.filled = torch.zeros((), dtype=torch.float32, device=device)
        for each in (self.buffer, self.filled):  # so that CUDA graphs may write to them
            each._dynamo_static_input_type = "guarded"  # type: ignore[attr-defined]

    def _hear(self, module: nn.Module, _inputs: Any, output: Any) -> None:
        if not is_transformed():
            self.owner.hear(self.name, module, output)

    def compiled(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        if self.owner.due:  # so there are two graphs, one that listens and one that does not
            self._copy_sample(output)

    def _copy_sample(self, output: Any) -> None:
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
    """Return some values of a tensor, evenly spread."""
    if tensor.ndim == 4 and not tensor.is_contiguous():  # channels last would be copied else
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
