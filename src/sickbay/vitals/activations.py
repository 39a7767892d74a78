"""Reading what layers put out, by forward hooks that are only there when a reading is due."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.readings import COLUMN, Kind, Numbers, Table
from sickbay.vitals.anatomy import Anatomy, computes
from sickbay.vitals.clock import Clock
from sickbay.vitals.guard import Guard
from sickbay.vitals.hooks import Handles, Hook, first_tensor, is_transformed
from sickbay.vitals.moments import merge
from sickbay.vitals.statistics import measure

SMALL = 65_536  # outputs up to this size are kept aside and measured together, which is cheaper
MANY = 256  # copies that are kept at the most
SAMPLE = 4_096  # values of an output that a compiled graph hands over
LASTING = 3  # readings in a row a unit must be silent in

CHANNELS_SECOND = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm")


class Activations:
    """Takes the table of activations of a step."""

    kind: Kind = "activation"

    def __init__(self, anatomy: Anatomy, guard: Guard, clock: Clock) -> None:
        self._anatomy, self._guard, self._clock = anatomy, guard, clock
        self._hooks = Handles()
        self._listeners: dict[nn.Module, _Listener] = {}
        self._rows: dict[str, list[Numbers]] = {}
        self._kept: list[tuple[str, Tensor, int]] = []
        self._calls: Counter[str] = Counter()
        # How many readings each unit was zero in, in a row, by layer and its call in the step.
        self._silent_for: dict[tuple[str, int], Tensor] = {}
        self._channels_second: bool | None = None  # not known before the first layer with weights
        self._compiled = False  # a graph holds our hooks: it would be compiled anew without them
        self.due = False

    def arm(self, due: bool) -> None:
        """Hook every layer, or unhook them all."""
        self._forget()
        self.due = due and "activation" not in self._guard.off
        if not self.due and not self._compiled:
            self._hooks.remove()
        elif not self._hooks:
            known, self._listeners = self._listeners, {}
            for name, module in self._anatomy.modules.items():
                if computes(module):
                    listener = known.get(module) or _Listener(self, module)
                    listener.name = name
                    self._listeners[module] = listener
                    self._hooks.add(module.register_forward_hook(listener))

    def collect(self, step: int) -> Table | None:
        """Return the table of the step, None if nothing was heard."""
        for listener in self._listeners.values():
            sample = listener.compiled_sample()
            if sample is not None:
                self._compiled = True
                self._kept.append((listener.name, sample, 0))
        self._measure_kept()
        order = [name for name in self._anatomy.modules if name in self._rows]
        if not order:
            return None
        values = np.stack([merge(np.stack(self._rows[name])) for name in order])
        self._forget()
        return Table("activation", step, tuple(order), values)

    def close(self) -> None:
        self._compiled = False
        self.arm(False)
        self._listeners.clear()

    def hear(self, name: str, module: nn.Module, output: Any) -> None:
        """Measure one output, or keep a copy of it for later."""
        with self._clock.timing("activation"):
            tensor = first_tensor(output)
            if tensor is None or not self.due or not self._in_training():
                return
            unit_dim = self._unit_dim(module, tensor)
            if tensor.numel() <= SMALL:  # a copy, since the next layer may work in place
                self._kept.append((name, tensor.detach().clone(), unit_dim))
                if len(self._kept) >= MANY:
                    self._measure_kept()
            else:
                self._add(name, tensor, unit_dim, measure([tensor.detach()])[0])

    def _measure_kept(self) -> None:
        rows = measure([tensor for _, tensor, _ in self._kept])
        for (name, tensor, unit_dim), row in zip(self._kept, rows, strict=True):
            self._add(name, tensor, unit_dim, row)
        self._kept.clear()
        for name, parts in self._rows.items():
            self._rows[name] = [merge(np.stack(parts))]

    def _forget(self) -> None:
        self._rows.clear()
        self._kept.clear()
        self._calls.clear()

    def _in_training(self) -> bool:
        in_backward = torch._C._current_graph_task_id() != -1  # checkpointing computes it again
        return self._anatomy.model.training and torch.is_grad_enabled() and not in_backward

    def _add(self, name: str, tensor: Tensor, unit_dim: int, row: Numbers) -> None:
        if unit_dim:
            silent = silent_units(tensor, unit_dim, row[COLUMN["zeros"]])
            row[COLUMN["dead_units"]] = 0.0 if silent is None else float(silent.float().mean())
            row[COLUMN["lasting_dead"]] = self._lasting(name, silent)
        self._rows.setdefault(name, []).append(row)

    def _lasting(self, name: str, silent: Tensor | None) -> float:
        """Return the share of units that have been silent for some readings."""
        key = name, self._calls[name]
        self._calls[name] += 1
        before = self._silent_for.pop(key, None)
        if silent is None:
            return 0.0
        streak = silent.int()
        if before is not None and before.shape == streak.shape:
            streak += before * streak
        self._silent_for[key] = streak
        return float((streak >= LASTING).float().mean())

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
        parameter = next(module.parameters(), None)
        device = parameter.device if parameter is not None else torch.device("cpu")
        self.owner = owner
        self.name = ""
        self.buffer = torch.zeros(SAMPLE, device=device)
        self.filled = torch.zeros((), dtype=torch.long, device=device)

    def __call__(self, module: nn.Module, _inputs: Any, output: Any) -> None:
        if torch.compiler.is_compiling():
            self._copy_sample(output)
        else:
            if not is_transformed():
                self.owner._guard.run("activation", self.owner.hear, self.name, module, output)

    def _copy_sample(self, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is None or not torch.is_grad_enabled() or tensor.numel() == 0:
            return
        values = tensor.detach().reshape(-1)
        stride = max(1, values.numel() // SAMPLE) | 1  # odd, to meet every column
        sample = values[::stride][:SAMPLE]
        self.buffer[: sample.numel()].copy_(sample)
        self.filled.fill_(sample.numel())

    def compiled_sample(self) -> Tensor | None:
        """Return the sample a compiled graph has left since the last call, if any."""
        filled = int(self.filled)
        self.filled.zero_()
        return self.buffer[:filled].clone() if filled else None


def silent_units(tensor: Tensor, dim: int, zeros: float) -> Tensor | None:
    """Tell for each unit along `dim` whether it is zero in the whole batch; None if none can be.

    >>> silent_units(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), 1, 0.75)
    tensor([ True, False])
    """
    if not zeros * tensor.shape[dim] >= 1:  # not even one unit's worth of zeros
        return None
    with torch.no_grad():
        others = [other for other in range(tensor.ndim) if other != dim % tensor.ndim]
        return (tensor.amax(others) == 0) & (tensor.amin(others) == 0)
