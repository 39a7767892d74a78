"""Reading the batch: what goes into the model, what comes out, and what that is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay import tasks
from sickbay.readings import Kind, Numbers, Table
from sickbay.vitals import graph, losses, recover
from sickbay.vitals.clock import Clock
from sickbay.vitals.guard import Guard
from sickbay.vitals.hooks import Hook, first_tensor
from sickbay.vitals.moments import merge
from sickbay.vitals.replay import Replay
from sickbay.vitals.statistics import measure

SAMPLE = 64  # samples of a batch that the task is told from
PAIRS = 16  # outputs with their targets that are kept of one step, at the most
ELEMENTWISE = ("mse", "l1", "smooth_l1", "huber", "poisson_nll")  # these stretch what does not fit


@dataclass(frozen=True)
class Facts:
    """What was learnt about the task; see `Setup`."""

    loss: str = ""
    output: str = ""
    task: str = ""
    output_shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    stretched: bool = False
    labels: int = 0
    strays: int = 0


@dataclass(frozen=True)
class Pair:
    """What one loss has compared."""

    outputs: Tensor
    targets: Tensor
    loss: str = ""
    output: str = ""


class Batch:
    """Takes the table of the batch of a step, and finds out what the task is."""

    kind: Kind = "batch"

    def __init__(
        self,
        model: nn.Module,
        optimized: Callable[[], list[int]],
        replay: Replay | None,
        guard: Guard,
        clock: Clock,
    ) -> None:
        self._model, self._optimized, self._replay = model, optimized, replay
        self._guard, self._clock = guard, clock
        self._searched = False
        self._output: Tensor | None = None
        self._gradient: Tensor | None = None  # of the loss, with respect to the output
        self._pairs: list[Pair] = []
        self._loss: Tensor | None = None
        self.facts = Facts()
        self.scalars: dict[str, float] = {}
        self.due = False
        # It stays: a model that is compiled with a hook would be compiled anew without it.
        self._hook = model.register_forward_hook(Hook(self._leave))
        losses.listen(self)

    def arm(self, due: bool) -> None:
        """Be ready for the next step, or for none."""
        self._forget()
        self.due = due and "batch" not in self._guard.off

    def heard(self, loss: str, outputs: Tensor, targets: Tensor) -> None:
        """Note what a loss module is about to compare."""
        if self.due and len(self._pairs) < PAIRS:
            self._guard.run("batch", self._note, loss, outputs, targets)

    def given(self, loss: Any, outputs: Any, targets: Any) -> None:
        """Note what the user has handed over."""
        if isinstance(loss, Tensor) and loss.grad_fn is not None:
            self._loss = loss
        if isinstance(outputs, Tensor):
            self._output = outputs.detach()
            if isinstance(targets, Tensor):
                output = graph.activation(outputs.grad_fn)[0]
                self._pairs = [Pair(outputs.detach(), targets.detach(), output=output)]

    def collect(self, step: int) -> Table | None:
        """Return the table of the step, None if nothing was seen."""
        inputs = self._replay.inputs() if self._replay is not None else []
        self._learn(tokens=any(each.ndim > 1 and not each.is_floating_point() for each in inputs))
        pairs = self._pairs
        rows = {
            "input": _measured([first_tensor(inputs)]),
            "output": _measured([pair.outputs for pair in pairs] if pairs else [self._output]),
            "target": _measured([pair.targets for pair in pairs]),
        }
        found = {name: row for name, row in rows.items() if row is not None}
        outputs = pairs[-1].outputs if pairs else self._output
        self.scalars = {} if outputs is None else verdicts(outputs.detach(), self.facts.task)
        self._forget()
        return Table("batch", step, tuple(found), np.stack(list(found.values()))) if found else None

    def close(self) -> None:
        losses.forget(self)
        self._hook.remove()
        self.arm(False)

    def _leave(self, _model: nn.Module, _args: Any, output: Any) -> None:
        if torch.compiler.is_compiling() or not self.due or not torch.is_grad_enabled():
            return
        self._output, self._gradient = first_tensor(output), None
        if self._output is not None and self._output.requires_grad:
            self._output.register_hook(self._keep_gradient)  # type: ignore[no-untyped-call]

    def _keep_gradient(self, gradient: Tensor) -> None:
        self._gradient = gradient.detach()

    def _note(self, loss: str, outputs: Tensor, targets: Tensor) -> None:
        with self._clock.timing("batch"):
            if outputs.is_floating_point() and self._is_ours(outputs):
                output = graph.activation(outputs.grad_fn)[0]
                self._pairs.append(Pair(outputs.detach(), targets.detach(), loss, output))

    def _is_ours(self, outputs: Tensor) -> bool:
        """Tell whether these come from the model, rather than from one that it feeds."""
        if self._output is None or self._output.data_ptr() == outputs.data_ptr():
            return True
        return graph.leads_to(outputs.grad_fn, self._output.grad_fn)

    def _learn(self, tokens: bool) -> None:
        """Put together what is known about the task."""
        traced = graph.Origin() if self._loss is None else graph.origin(self._loss.grad_fn)
        if not self._pairs:
            self._recover(traced)
        pairs = self._pairs
        pair = pairs[-1] if len({(each.loss, each.output) for each in pairs}) == 1 else None
        outputs = pair.outputs if pair is not None else self._output
        if not traced.loss and outputs is not None:
            traced = replace(traced, output=graph.activation(outputs.grad_fn)[0])
        loss, output, stretched = traced.loss, traced.output, traced.stretched
        if pair is not None:
            loss, output = loss or pair.loss, output or pair.output
            if pair.loss in ELEMENTWISE:
                stretched |= pair.outputs.shape != pair.targets.shape
        shape = () if outputs is None else tuple(outputs.shape)
        some = None if pair is None else _some(pair.targets)
        self._add(
            loss=loss,
            output=output,
            task=tasks.infer(shape, some, loss=loss, tokens=tokens),
            output_shape=shape,
            target_shape=() if pair is None else tuple(pair.targets.shape),
            stretched=stretched,
            labels=0 if some is None else tasks.labels(some),
            strays=self._strays(),
        )

    def _strays(self) -> int:
        """Look for layers that the model uses but does not hold: once, it is a long way."""
        if self._loss is None or self._searched:
            return 0
        self._searched = True
        own = {*map(id, self._model.parameters()), *self._optimized()}
        return graph.strays(self._loss.grad_fn, own)

    def _recover(self, traced: graph.Origin) -> None:
        """Work out the targets from the gradient, if the loss was fed the model's output."""
        output, gradient, loss = self._output, self._gradient, self._loss
        if output is None or gradient is None or loss is None or loss.ndim or traced.stretched:
            return
        if graph.activation(output.grad_fn)[2] is not traced.source:
            return
        found = recover.targets(traced.loss, loss.detach(), output.detach(), gradient)
        if found is not None:
            self._pairs = [Pair(output.detach(), found, traced.loss, traced.output)]

    def _add(self, **facts: Any) -> None:
        """Keep what is new; a task may turn out to be another than one batch made believe."""
        known = vars(self.facts)
        later = {name: value for name, value in facts.items() if value and not known[name]}
        if facts["task"] in ("multilabel", "regression"):
            later["task"] = facts["task"]
        later["labels"] = max(known["labels"], facts["labels"])
        self.facts = replace(self.facts, **later)

    def _forget(self) -> None:
        self._output = self._loss = self._gradient = None
        self._pairs.clear()


def verdicts(outputs: Tensor, task: str) -> dict[str, float]:
    """Return how much the outputs of a batch differ: `output_spread`, and `top_share` of classes.

    >>> verdicts(torch.tensor([[2.0, 1.0], [2.0, 1.0]]), "multiclass")
    {'output_spread': 0.0, 'top_share': 1.0}
    """
    if outputs.ndim == 0 or len(outputs) < 2:
        return {}
    flat = outputs.float().reshape(len(outputs), -1)
    size = float(flat.square().mean().sqrt())
    spread = float(flat.var(0, unbiased=False).mean().sqrt()) / size if size else 0.0
    if task not in ("multiclass", "next_token") or outputs.ndim != 2:
        return {"output_spread": spread}
    top = torch.bincount(outputs.argmax(1)).max()
    return {"output_spread": spread, "top_share": float(top) / len(outputs)}


def _measured(tensors: Sequence[Tensor | None]) -> Numbers | None:
    rows = [measure([tensor])[0] for tensor in tensors if tensor is not None and tensor.numel()]
    return merge(np.stack(rows)) if rows else None


def _some(targets: Tensor) -> Any:
    some = targets[:SAMPLE] if targets.ndim else targets.reshape(1)
    return (some.float() if some.is_floating_point() else some).cpu().numpy()
