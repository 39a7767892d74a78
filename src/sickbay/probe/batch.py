"""Measure the batch: the model's inputs, its outputs, and the targets they are compared with."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle, unserializable_hook

from sickbay.probe import before_backward, graph_facts, loss_graph, loss_modules
from sickbay.probe.batch_scalars import BatchScalars
from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Hook, can_be_hooked, first_tensor, is_transformed, weakly
from sickbay.probe.locate_nan import NanLocator, excerpt
from sickbay.probe.loss_listeners import LossListeners
from sickbay.probe.meter import Meter
from sickbay.probe.mixed_samples import regroups
from sickbay.probe.other_models import feeder
from sickbay.probe.output_scale import output_scale
from sickbay.probe.own_loss import token_rows, without_loss
from sickbay.probe.saved_targets import compared, settled
from sickbay.probe.seen_batch import Pair, Seen, recovered
from sickbay.probe.statistics import measured
from sickbay.probe.task_facts import is_of_another_loss, joined, shown
from sickbay.probe.trials import Trials
from sickbay.vitals import Kind, Setup, Table

WHOLE = 1_000_000  # values of an output that may be kept until backward
PAIRS = 16  # pairs of outputs and targets kept of one step at most


class Batch:
    """Measures the batch of a step, and infers the task from it."""

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
        self._searched = False  # for strays
        self._no_output = False  # a whole step showed no output, so the model is compiled
        self._output: Tensor | None = None
        self._whole: Tensor | None = None
        self._shape: tuple[int, ...] = ()
        self._passes = 0  # in which the model itself learns, not another that feeds it
        self._output_node: Any = None
        self._gradient: Tensor | None = None  # of the loss with respect to the output
        self._gradient_hook: RemovableHandle | None = None
        self._own_loss = False  # whether the model returns the loss too
        self._pairs: list[Pair] = []
        self._earlier = 0  # pairs of passes whose backward is over
        self._found: list[Pair] = []  # in the graph of the loss
        self._losses = LossListeners(guard, meter)
        self._loss: Tensor | None = None
        self._heard: Any = None  # node of a loss of which the loop may tell the value alone
        self._scale = 1.0  # by which the outputs are multiplied right before the loss
        self.facts = Setup()  # what is known about the task
        self.trials = Trials(model, nan_locator, guard, clock)
        self._scalars = BatchScalars(model, self.trials)
        self.scalars: dict[str, float] = {}
        self.due = False
        # Kept between readings: a compiled model would be compiled again without its hook.
        self._hook: RemovableHandle | None = None
        if can_be_hooked(model):
            self._hook = model.register_forward_hook(Hook(guard, self.kind, self._on_forward))
        loss_modules.listen(self)

    def arm(self, due: bool) -> None:
        """Prepare for a step whose batch is due, or is not."""
        self._forget()
        self.due = due and "batch" not in self.guard.off
        (before_backward.listen if self.due else before_backward.forget)(self)
        if self._nan_locator is not None:
            self._nan_locator.wanted = self.due

    def on_loss(self, loss: str, outputs: Tensor, targets: Tensor, value: Any) -> None:
        """Keep what a loss module has compared."""
        if not self.due or len(self._pairs) >= PAIRS or self._meter.blocked or is_transformed():
            return
        if not outputs.is_floating_point():
            return
        if not self._is_ours(outputs):
            if self._output_node is not None:
                passed = output_scale(outputs.grad_fn, self._output_node)
                self._scale = min(self._scale, passed)
            return
        with self._clock.timing("batch"):
            output = loss_graph.activation(outputs.grad_fn)[0]
            value = value.detach() if isinstance(value, Tensor) and not value.ndim else None
            self._pairs.append(Pair.of(outputs, targets, loss, output, value))

    def before_backward(self, loss: Tensor) -> None:
        """Keep what the graph of a loss compares with the outputs."""
        output, source = self._whole, self._output_node
        if not self.due or self._meter.blocked or is_transformed():
            return
        with self._clock.timing("batch"):
            self._losses.listen(loss.grad_fn, source, self._model)
        if output is None or source is None or loss.grad_fn is None:
            return
        self._heard = loss.grad_fn
        if self._current_pairs():
            return
        with self._clock.timing("batch"):
            self._found += compared(loss.grad_fn, source, output)
            if not self._searched:
                self._losses.look(loss.grad_fn, source)

    def use(self, loss: Any, outputs: Any, targets: Any) -> None:
        """Keep what the user passed to `doctor.step`."""
        if isinstance(loss, Tensor) and loss.grad_fn is not None:
            self._loss = loss
        if isinstance(outputs, Tensor):
            self._keep(outputs)
            if isinstance(targets, Tensor):
                output = loss_graph.activation(outputs.grad_fn)[0]
                self._pairs = [Pair.of(outputs, targets, output=output)]

    def release(self) -> Seen:
        """Return what was seen, and start over."""
        loss, inputs = self._loss, [] if self._nan_locator is None else self._nan_locator.inputs()
        given = first_tensor(inputs)
        traced = loss_graph.Origin() if loss is None else loss_graph.origin(loss.grad_fn)
        terms = loss_graph.compared_by(self._heard if loss is None else loss.grad_fn)
        activation, _, source = loss_graph.activation(self._output_node)
        rows = token_rows(inputs, self._own_loss)
        self._no_output = self._output is None
        seen = Seen(
            inputs=None if given is None else given.detach(),
            tokens=rows[-1] if rows else None,
            output=self._output,
            shape=self._shape,
            activation=activation,
            gradient=self._gradient,
            pairs=self._current_pairs() or self._found[:PAIRS],
            loss=None if loss is None else loss.detach(),
            traced=replace(traced, source=None),  # so that the graph can go
            direct=source is traced.source,
            alone=len(inputs) < 2,
            several=len(terms) > 1,
            passes=min(self._passes, PAIRS),
            heard=self._losses.scalars(),
            **self._searched_facts(rows),
        )
        self._forget()
        return seen.on_cpu(self._meter) if self._meter.late else seen

    def table(self, seen: Seen, step: int) -> Table | None:
        """Update what is known about the task; return the table, None if nothing was seen."""
        pairs = settled(seen.pairs) or recovered(seen)
        if len(pairs) < seen.passes:  # a critic's labels of the other pass may be others
            pairs = [each for each in pairs if not each.has_one_target()]
        pairs = self._learn(seen, pairs)
        found = measured(
            input=[seen.inputs],
            output=[pair.outputs for pair in pairs] if pairs else [seen.output],
            target=[pair.targets for pair in pairs],
        )
        scalars = self.guard.run("batch scalars", self._scalars.of, seen, pairs, self.facts)
        self.scalars = scalars or {}
        return Table("batch", step, tuple(found), np.stack(list(found.values()))) if found else None

    def close(self) -> None:
        loss_modules.forget(self)
        if self._hook is not None:
            self._hook.remove()
        self.arm(False)

    def _on_forward(self, model: nn.Module, args: Any, output: Any) -> None:
        wanted = self.due and model.training and not self._meter.blocked
        if not wanted or is_transformed():
            return
        tensor, own_loss = without_loss(output)
        if tensor is None:
            return
        self._losses.made(tensor)
        if not torch.is_grad_enabled():
            return
        before = feeder(args)
        own = before is None or id(before) in self._own()
        if not own and self._passes:
            return
        self._passes += own
        self._own_loss = own_loss
        self._keep(tensor)
        if self._gradient is not None:
            self._earlier, self._gradient = len(self._pairs), None
        if tensor.grad_fn is not None:
            self._scale = output_scale(tensor.grad_fn)
            self._unhook()
            keep = weakly(self.guard, self.kind, self._keep_gradient)
            self._gradient_hook = tensor.register_hook(unserializable_hook(keep))  # type: ignore[no-untyped-call]

    def _current_pairs(self) -> list[Pair]:
        """Return the pairs, none if the last pass has none of its own.

        A generator's step compares what the critic says of its samples before the critic's own.
        """
        return self._pairs if self._earlier < len(self._pairs) or self._earlier == PAIRS else []

    def _keep(self, outputs: Tensor) -> None:
        self._whole = outputs.detach() if outputs.numel() <= WHOLE else None
        self._output, self._shape = excerpt(outputs), tuple(outputs.shape)
        self._output_node = outputs.grad_fn

    def _keep_gradient(self, gradient: Tensor) -> None:
        self._gradient = excerpt(gradient)

    def _is_ours(self, outputs: Tensor) -> bool:
        """Return whether these are the model's own outputs, not those of a model that it feeds."""
        if self._output is None:
            return self._no_output
        same = self._output.data_ptr() == outputs.data_ptr()
        return same or loss_graph.leads_to(outputs.grad_fn, self._output_node)

    def _learn(self, seen: Seen, pairs: list[Pair]) -> list[Pair]:
        """Add what this batch shows to what is known, and return its pairs, none of other losses.

        Where two heads are trained in turn, the loss of one says nothing of the other's targets.
        """
        new = shown(seen, pairs)
        if is_of_another_loss(self.facts, new):
            pairs, new = [], Setup(stretched=new.stretched)
        facts, trials = joined(self.facts, new, seen), self.trials
        self.facts = replace(
            facts,
            looks_ahead=facts.looks_ahead or trials.looks_ahead,
            mixed=facts.mixed or trials.mixed,
            wrong_sign=self._losses.punishes_likeness,
            scale=self._scale,
        )
        return pairs

    def _searched_facts(self, rows: Sequence[Tensor]) -> dict[str, Any]:
        """Return what a search of the whole graph shows; only once, as it is slow."""
        node = self._heard if self._loss is None else self._loss.grad_fn
        if node is None or self._searched:
            return {"strays": 0}
        self._searched = True
        self.trials.regroups = regroups(self._model, self._output_node, self._shape)
        return graph_facts.search(node, self._output_node, self._model, self._own(), rows)

    def _own(self) -> set[int]:
        """Return the ids of the parameters that are trained."""
        return {*map(id, self._model.parameters()), *self._optimized()}

    def _unhook(self) -> None:
        if self._gradient_hook is not None:
            self._gradient_hook.remove()
            self._gradient_hook = None

    def _forget(self) -> None:
        self._unhook()
        self._output = self._whole = self._loss = self._gradient = self._output_node = None
        self._heard, self._passes = None, 0
        self._losses.forget()
        self._pairs, self._found, self._earlier = [], [], 0
