"""Reading the batch: what goes into the model, what comes out, and what that is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle, unserializable_hook

from sickbay import tasks
from sickbay.probe import loss_graph, loss_modules
from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import (
    Handles,
    Hook,
    can_be_hooked,
    first_tensor,
    is_transformed,
    weakly,
)
from sickbay.probe.locate_nan import LARGE, NanLocator, excerpt
from sickbay.probe.merge_statistics import merge
from sickbay.probe.meter import Meter
from sickbay.probe.seen_batch import Pair, Seen, recovered
from sickbay.probe.statistics import measure
from sickbay.vitals import Kind, Numbers, Setup, Table

SAMPLE = 64  # samples of a batch that the task is told from
PAIRS = 16  # outputs with their targets that are kept of one step, at the most
ELEMENTWISE = ("mse", "l1", "smooth_l1", "huber", "poisson_nll")  # these stretch what does not fit


class Batch:
    """Takes the table of the batch of a step, and finds out what the task is."""

    kind: Kind = "batch"

    def __init__(
        self,
        model: nn.Module,
        optimized: Callable[[], list[int]],
        nan_locator: NanLocator | None,
        guard: Guard,
        clock: Clock,
        meter: Meter,
    ) -> None:
        self._model, self._optimized, self._nan_locator = model, optimized, nan_locator
        self.guard, self._clock, self._meter = guard, clock, meter
        self._searched = False
        self._deaf = False  # no output was seen at a whole step: the model is compiled
        self._output: Tensor | None = None
        self._shape: tuple[int, ...] = ()
        self._made_by: Any = None  # the node behind the output
        self._gradient: Tensor | None = None  # of the loss, with respect to the output
        self._handle: RemovableHandle | None = None
        self._pairs: list[Pair] = []
        self._loss: Tensor | None = None
        self.facts = Setup()  # what was learnt about the task
        self.scalars: dict[str, float] = {}
        self.due = False
        # It stays: a model that is compiled with a hook would be compiled anew without it.
        self._hooks = Handles()
        if can_be_hooked(model):
            self._hooks.add(model.register_forward_hook(Hook(guard, self.kind, self._leave)))
        loss_modules.listen(self)

    def arm(self, due: bool) -> None:
        """Be ready for the next step, or for none."""
        self._forget()
        self.due = due and "batch" not in self.guard.off
        if self._nan_locator is not None:
            self._nan_locator.wanted = self.due

    def heard(self, loss: str, outputs: Tensor, targets: Tensor, value: Any) -> None:
        """Note what a loss module has compared."""
        if not self.due or len(self._pairs) >= PAIRS or self._meter.blocked or is_transformed():
            return
        if not outputs.is_floating_point() or not self._is_ours(outputs):
            return
        with self._clock.timing("batch"):
            output = loss_graph.activation(outputs.grad_fn)[0]
            value = value.detach() if isinstance(value, Tensor) and not value.ndim else None
            self._pairs.append(Pair.of(outputs, targets, loss, output, value))

    def given(self, loss: Any, outputs: Any, targets: Any) -> None:
        """Note what the user has handed over."""
        if isinstance(loss, Tensor) and loss.grad_fn is not None:
            self._loss = loss
        if isinstance(outputs, Tensor):
            self._keep(outputs)
            if isinstance(targets, Tensor):
                output = loss_graph.activation(outputs.grad_fn)[0]
                self._pairs = [Pair.of(outputs, targets, output=output)]

    def release(self) -> Seen:
        """Return what was seen, and begin anew."""
        inputs = self._nan_locator.inputs() if self._nan_locator is not None else []
        traced = (
            loss_graph.Origin() if self._loss is None else loss_graph.origin(self._loss.grad_fn)
        )
        activation, _, source = loss_graph.activation(self._made_by)
        self._deaf = self._output is None
        seen = Seen(
            inputs=first_tensor(inputs),
            tokens=any(each.ndim > 1 and not each.is_floating_point() for each in inputs),
            output=self._output,
            shape=self._shape,
            activation=activation,
            gradient=self._gradient,
            pairs=list(self._pairs),
            loss=None if self._loss is None else self._loss.detach(),
            traced=replace(traced, source=None),  # the graph must not be kept
            direct=source is traced.source,
            strays=self._strays(),
        )
        self._forget()
        return seen.on_cpu(self._meter) if self._meter.late else seen

    def table(self, seen: Seen, step: int) -> Table | None:
        """Learn from what was seen; return its table, None if it was nothing."""
        pairs = seen.pairs or recovered(seen)
        self._learn(seen, pairs)
        found = _measured(
            input=[seen.inputs],
            output=[pair.outputs for pair in pairs] if pairs else [seen.output],
            target=[pair.targets for pair in pairs],
        )
        outputs = pairs[-1].outputs if pairs else seen.output
        differing = nan if outputs is None else spread(outputs)
        self.scalars = {} if isnan(differing) else {"output_spread": differing}
        return Table("batch", step, tuple(found), np.stack(list(found.values()))) if found else None

    def close(self) -> None:
        loss_modules.forget(self)
        self._hooks.remove()
        self.arm(False)

    def _leave(self, model: nn.Module, _args: Any, output: Any) -> None:
        wanted = self.due and model.training and not self._meter.blocked
        if wanted and torch.is_grad_enabled() and not is_transformed():
            self._note_output(output)

    def _note_output(self, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is None:
            return
        self._keep(tensor)
        self._gradient = None
        if tensor.grad_fn is not None and tensor.numel() <= LARGE:
            self._unhook()
            keep = weakly(self.guard, self.kind, self._keep_gradient)
            self._handle = tensor.register_hook(unserializable_hook(keep))  # type: ignore[no-untyped-call]

    def _keep(self, outputs: Tensor) -> None:
        self._output, self._shape = excerpt(outputs), tuple(outputs.shape)
        self._made_by = outputs.grad_fn

    def _keep_gradient(self, gradient: Tensor) -> None:
        self._gradient = gradient.detach()

    def _is_ours(self, outputs: Tensor) -> bool:
        """Tell whether these come from the model, rather than from one that it feeds."""
        if self._output is None:
            return self._deaf
        if self._output.data_ptr() == outputs.data_ptr():
            return True
        return loss_graph.leads_to(outputs.grad_fn, self._made_by)

    def _learn(self, seen: Seen, pairs: Sequence[Pair]) -> None:
        """Put together what is known about the task."""
        traced = seen.traced
        pair = pairs[-1] if len({(each.loss, each.output) for each in pairs}) == 1 else None
        loss, output, stretched, bare = traced.loss, traced.output, traced.stretched, traced.bare
        if not loss:
            output = seen.activation
        shapes = (seen.shape, ()) if pair is None else pair.shapes
        if pair is not None:
            loss, output = loss or pair.loss, output or pair.output
            stretched |= loss in ELEMENTWISE and shapes[0] != shapes[1]
            same = pair.value is not None and seen.loss is not None and not seen.loss.ndim
            bare |= same and bool(torch.isclose(pair.value, seen.loss))  # type: ignore[arg-type]
        some = None if pair is None else _some(pair.targets)
        self._add(
            loss=loss,
            output=output,
            task=tasks.infer(shapes[0], some, loss=loss, tokens=seen.tokens),
            output_shape=shapes[0],
            target_shape=shapes[1],
            stretched=stretched,
            bare=bare,
            strays=seen.strays,
            labels=0 if some is None else tasks.labels(some),
        )

    def _strays(self) -> int:
        """Look for layers that the model uses but does not hold: once, it is a long way."""
        if self._loss is None or self._searched:
            return 0
        self._searched = True
        own = {*map(id, self._model.parameters()), *self._optimized()}
        return loss_graph.strays(self._loss.grad_fn, own)

    def _add(self, **facts: Any) -> None:
        """Keep what is new; a task may turn out to be another than one batch made believe."""
        known = vars(self.facts)
        later = {name: value for name, value in facts.items() if value and not known[name]}
        if facts["task"] in ("multilabel", "regression"):
            later["task"] = facts["task"]
        later["labels"] = max(known["labels"], facts["labels"])
        self.facts = replace(self.facts, **later)

    def _unhook(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _forget(self) -> None:
        self._unhook()
        self._output = self._loss = self._gradient = self._made_by = None
        self._pairs.clear()


def spread(outputs: Tensor) -> float:
    """Return how much outputs differ from sample to sample, over their size; NaN for a single one.

    >>> spread(torch.tensor([[2.0, 1.0], [2.0, 1.0]]))
    0.0
    """
    if outputs.ndim == 0 or len(outputs) < 2:
        return nan
    flat = outputs.float().reshape(len(outputs), -1)
    size = float(flat.square().mean().sqrt())
    return float(flat.var(0, unbiased=False).mean().sqrt()) / size if size else 0.0


def _measured(**named: Sequence[Tensor | None]) -> dict[str, Numbers]:
    """Return a row for each name that has values; all are measured together, which is cheaper."""
    there = {
        name: [each for each in tensors if each is not None and each.numel()]
        for name, tensors in named.items()
    }
    rows = measure([each for tensors in there.values() for each in tensors])
    parts = np.split(rows, np.cumsum([len(tensors) for tensors in there.values()])[:-1])
    return {name: merge(part) for name, part in zip(there, parts, strict=True) if len(part)}


def _some(targets: Tensor) -> Any:
    some = targets[:SAMPLE] if targets.ndim else targets.reshape(1)
    return (some.float() if some.is_floating_point() else some).cpu().numpy()
