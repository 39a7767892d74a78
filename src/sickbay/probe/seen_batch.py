"""The inputs, outputs and targets of one training step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from sickbay.probe import loss_graph, recover_targets
from sickbay.probe.locate_nan import excerpt
from sickbay.probe.meter import Meter


@dataclass(frozen=True)
class Pair:
    """The outputs and targets that a loss compared, or their first samples."""

    outputs: Tensor
    targets: Tensor
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    loss: str = ""
    output: str = ""
    value: Any = None

    @classmethod
    def of(
        cls, outputs: Tensor, targets: Tensor, loss: str = "", output: str = "", value: Any = None
    ) -> Pair:
        shapes = tuple(outputs.shape), tuple(targets.shape)
        return cls(excerpt(outputs), excerpt(targets), shapes, loss, output, value)


@dataclass(frozen=True)
class Seen:
    """What was read of the batch of one step."""

    inputs: Tensor | None
    tokens: bool  # whether the inputs are rows of whole numbers
    output: Tensor | None
    shape: tuple[int, ...]  # of the whole output
    activation: str  # that produced the output
    gradient: Tensor | None  # of the loss with respect to the output
    pairs: list[Pair]
    loss: Tensor | None
    traced: loss_graph.Origin
    direct: bool  # whether the loss was computed from the model's own output
    strays: int

    def on_cpu(self, meter: Meter) -> Seen:
        """Return it with tensors on the CPU, which a late meter fills in later."""

        def moved(owner: Any, *names: str) -> Any:
            found = ((name, getattr(owner, name)) for name in names)
            on_gpu = [(name, each) for name, each in found if each is not None and not each.is_cpu]
            return replace(owner, **{name: meter.copy(each) for name, each in on_gpu})

        inputs = None if self.inputs is None else excerpt(self.inputs)
        pairs = [moved(each, "outputs", "targets", "value") for each in self.pairs]
        seen = replace(self, inputs=inputs, pairs=pairs)
        copied: Seen = moved(seen, "inputs", "output", "gradient", "loss")
        return copied


def recovered(seen: Seen) -> list[Pair]:
    """Work out the targets from the gradient, if the loss was computed from the model's output."""
    output, gradient, loss, traced = seen.output, seen.gradient, seen.loss, seen.traced
    if output is None or gradient is None or loss is None or loss.ndim or traced.stretched:
        return []
    found = recover_targets.targets(traced.loss, loss, output, gradient) if seen.direct else None
    return [] if found is None else [Pair.of(output, found, traced.loss, traced.output)]
