"""Tell whether a generator and its critic want the same, which leaves them nothing to learn from.

A critic is to tell made samples from real ones, and the generator to make that hard. So their
losses must pull the critic's answers to the same samples in opposite directions, in any kind of
adversarial training.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from torch import Tensor, nn

from sickbay.probe.guard import Guard
from sickbay.probe.loss_graph import inputs_of, kernels_of, nodes, title
from sickbay.probe.meter import Meter
from sickbay.probe.saved_tensors import HiddenError, saved

PART = "critic"
LAYERS = {"Addmm": "mat1", "Mm": "self", "Convolution": "input"}  # and where they keep their input
NEAR, NODES = 60, 4_000  # nodes searched for a critic, and for its layers
READINGS, BLIND = 40, 3  # at most, and without a critic
PASSES = 8  # of the generator whose samples are kept: a long rollout may come before a step
CLEAR = 0.99  # of the gradients must have one sign


class Critics:
    """Hears how the losses of a generator and of its critic pull the critic's answers.

    A late meter would have to wait for the device, so it does not hear of them.
    """

    def __init__(self, guard: Guard, meter: Meter) -> None:
        self._guard = guard
        self._left = 0 if meter.late else BLIND
        self._listened = False  # at this step
        self._answering = 0  # id of the kernel of the critic's last layer
        self._samples: deque[Tensor] = deque(maxlen=PASSES)
        self._pulls: dict[str, float] = {}
        self._handles: list[Any] = []

    def made(self, samples: Tensor) -> None:
        """Keep samples of the generator until the end of the step."""
        if self._left:
            self._samples.append(samples.detach())

    def listen(self, loss: Any, source: Any, model: nn.Module) -> None:
        """Hook the critic's last layer; `loss` and `source` are nodes before backward."""
        if not self._left or loss is None or not self._samples:
            return
        self._listened = True
        graph = nodes(loss, most=NODES)
        if len(graph) > NODES:
            return
        if source in graph:
            self._on_generator(_judging(loss, source), model)
        elif self._answering:
            for layer, rows in self._on_samples(graph):
                self._hook("critic", layer, rows)

    def agreement(self) -> dict[str, float]:
        """Return whether both pull the same way, if that is known; forget what was heard."""
        self._left -= self._listened
        self._listened = False
        pulls = self._pulls
        self.forget()
        if pulls.keys() != {"generator", "critic"} or not all(pulls.values()):
            return {}
        return {"critic_agrees": float(pulls["generator"] == pulls["critic"])}

    def forget(self) -> None:
        """Let go of samples and hooks."""
        self._pulls = {}
        self._samples.clear()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _on_generator(self, layer: Any, model: nn.Module) -> None:
        kernel = None if layer is None else kernels_of(layer)[0]
        if kernel is None or any(kernel is each for each in model.parameters()):
            return
        self._left += 0 if self._answering else READINGS
        self._answering = id(kernel)
        self._hook("generator", layer, slice(None))

    def _on_samples(self, graph: Collection[Any]) -> Iterator[tuple[Any, slice]]:
        """Yield the last layers that answer to the generator's samples, and in which rows."""
        for layer in graph:
            if self._answering in map(id, kernels_of(layer)):
                for first in nodes(layer):
                    with suppress(HiddenError):
                        rows = _rows_of(first, self._samples)
                        if rows is not None:
                            yield layer, rows

    def _hook(self, who: str, layer: Any, rows: slice) -> None:
        keep = self._guard.wrap(PART, partial(self._keep, who, rows))
        self._handles.append(layer.register_prehook(keep))

    def _keep(self, who: str, rows: slice, gradients: Any) -> None:
        gradient = gradients[0]
        if gradient is not None:
            gradient = gradient[rows].float()
            total, size = float(gradient.sum()), float(gradient.abs().sum())
            clear = size > 0 and abs(total) > CLEAR * size
            self._pulls[who] = (1.0 if total > 0 else -1.0) if clear else 0.0


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


def _rows_of(layer: Any, samples: Collection[Tensor]) -> slice | None:
    """Return the rows of a layer's input that are samples, None if there are none."""
    if title(layer) not in LAYERS:
        return None
    given = saved(layer, LAYERS[title(layer)])
    for made in samples if isinstance(given, Tensor) and given.ndim > 1 else ():
        count, rest = len(made), len(given) - len(made)
        fits = rest >= 0 and made.ndim > 1 and made[0].numel() == given[0].numel()
        for start in {0, rest} if fits else ():
            if bool((given[start : start + count].flatten(1) == made.flatten(1)).all()):
                return slice(start, start + count)
    return None
