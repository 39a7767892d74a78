"""Tell whether a generator and its critic want the same, which leaves them nothing to learn from.

A critic is to tell made samples from real ones, and the generator to make that hard. So their
losses must pull the critic's answers to the same samples in opposite directions, in any kind of
adversarial training. A model of how good samples are is no critic: its loss does not pull the
answers to made samples one way and all others the other way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.probe.guard import Guard
from sickbay.probe.loss_graph import inputs_of, kernels_of, nodes, shape_of, title
from sickbay.probe.meter import Meter
from sickbay.probe.saved_tensors import HiddenError, saved

PART = "critic"
LAYERS = {"Addmm": "mat1", "Mm": "self", "Convolution": "input"}  # and where they keep their input
NEAR, NODES = 60, 4_000  # nodes searched for a critic, and for its layers
SEARCHES = 3  # steps whose losses are searched for a critic
READINGS = 128  # more than the steps for which both must agree, as every step may be read
PASSES = 8  # of the generator whose samples are known: a long rollout may come before a step
ROWS, LARGEST = 2, 500_000  # samples by which a pass is recognised, and their values at most
CLEAR = 0.99  # of the gradients must have one sign
LastLayer = tuple[int, tuple[int, ...]]  # id of its kernel, and shape of an answer
GENERATOR, MADE, OTHERS = "generator", "made", "others"  # the critic pulls made samples and others


class Critics:
    """Hears how the losses of a generator and of its critic pull the critic's answers.

    A late meter would have to wait for the device, so it does not hear of them.
    """

    def __init__(self, guard: Guard, meter: Meter) -> None:
        self._guard = guard
        self._steps_left = 0 if meter.late else SEARCHES
        self._heard_a_loss = False  # at this step
        self._last_layer: LastLayer | None = None  # of the critic
        self._samples: deque[tuple[int, Tensor]] = deque(maxlen=PASSES)  # how many, and the first
        self._pulls: dict[str, tuple[float, float]] = {}  # sum and size of gradients
        self._handles: list[Any] = []

    def made(self, samples: Tensor) -> None:
        """Keep the first samples of a pass of the generator until the end of the step."""
        first = samples[:ROWS] if self._steps_left and samples.ndim > 1 else None
        if first is not None and 0 < first.numel() <= LARGEST:
            self._samples.append((len(samples), first.detach().clone()))

    def listen(self, loss: Any, source: Any, model: nn.Module) -> None:
        """Hook the critic's last layer; `loss` and `source` are nodes before backward."""
        if not self._steps_left or loss is None or not (self._samples or self._last_layer):
            return
        self._heard_a_loss = True
        graph = nodes(loss, most=NODES)
        if len(graph) > NODES:
            return
        if source in graph:
            self._on_generator(_judging(loss, source), model)
        elif self._last_layer:
            self._on_critic(graph, self._last_layer)

    def agreement(self) -> dict[str, float]:
        """Return whether both pull the same way, if that is known; forget what was heard.

        Both want the same only if that is clear every time, so one that do not is enough.
        """
        self._steps_left -= self._heard_a_loss
        pulls = {who: _sign(*pull) for who, pull in self._pulls.items()}
        self.forget()
        if pulls.keys() != {GENERATOR, MADE, OTHERS}:
            return {}
        agree = pulls[GENERATOR] == pulls[MADE] == -pulls[OTHERS] != 0
        if not agree:
            self._steps_left = 0
        return {"critic_agrees": float(agree)}

    def forget(self) -> None:
        """Let go of samples and hooks."""
        self._heard_a_loss = False
        self._pulls = {}
        self._samples.clear()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _on_generator(self, layer: Any, model: nn.Module) -> None:
        kernel = None if layer is None else kernels_of(layer)[0]
        if kernel is None or any(kernel is each for each in model.parameters()):
            self._samples.clear()
            return
        self._steps_left += 0 if self._last_layer else READINGS
        self._last_layer = id(kernel), shape_of(layer)[1:]
        self._hook(layer, self._hear_generator)

    def _on_critic(self, graph: Collection[Any], last: LastLayer) -> None:
        """Hook the critic's last layer in each of its passes.

        Its kernel also occurs in the gradients of a gradient penalty, which have other shapes.
        """
        kernel, shape = last
        for layer in graph:
            answers = title(layer) in LAYERS and shape_of(layer)[1:] == shape
            if answers and kernel in map(id, kernels_of(layer)):
                self._hook(layer, partial(self._hear_critic, _made_rows(layer, self._samples)))

    def _hook(self, layer: Any, hear: Any) -> None:
        self._handles.append(layer.register_prehook(self._guard.wrap(PART, hear)))

    def _hear_generator(self, gradients: Sequence[Tensor | None]) -> None:
        self._add(GENERATOR, gradients[0])

    def _hear_critic(self, made: slice, gradients: Sequence[Tensor | None]) -> None:
        if (gradient := gradients[0]) is not None:
            self._add(MADE, gradient[made])
            self._add(OTHERS, torch.cat([gradient[: made.start], gradient[made.stop :]]))

    def _add(self, who: str, gradient: Tensor | None) -> None:
        if gradient is not None and gradient.numel():
            total, size = self._pulls.get(who, (0.0, 0.0))
            gradient = gradient.float()
            self._pulls[who] = total + float(gradient.sum()), size + float(gradient.abs().sum())


def _sign(total: float, size: float) -> float:
    """Return the sign of gradients, 0 if it is not clear."""
    return (total > 0) - (total < 0) if abs(total) > CLEAR * size else 0


def _judging(loss: Any, source: Any) -> Any:
    """Return the layer between a loss and a model's output that is nearest to the loss, or None."""
    waiting, seen = [loss], {loss, source}
    while waiting and len(seen) < NEAR:
        node = waiting.pop(0)
        if title(node) in LAYERS and kernels_of(node) and node is not source:
            return node
        new = [each for each in inputs_of(node) if each not in seen]
        seen.update(new)
        waiting += new
    return None


def _made_rows(last: Any, samples: Collection[tuple[int, Tensor]]) -> slice:
    """Return the rows of a pass, up to its last layer, that are made samples; none at first."""
    for layer in nodes(last):
        with suppress(HiddenError):
            if title(layer) in LAYERS and shape_of(layer)[:1] == shape_of(last)[:1]:
                given = saved(layer, LAYERS[title(layer)])
                for count, first in samples if isinstance(given, Tensor) else ():
                    if (start := _start_of(first, count, given)) is not None:
                        return slice(start, start + count)
    return slice(0, 0)


def _start_of(first: Tensor, count: int, given: Tensor) -> int | None:
    """Return where in a batch the samples are whose first ones are known, None if nowhere."""
    rest = len(given) - count
    if rest < 0 or given[0].numel() != first[0].numel():
        return None
    for start in {0, rest}:
        if bool((given[start : start + len(first)].flatten(1) == first.flatten(1)).all()):
            return start
    return None
