"""The inputs, outputs and targets of one training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from torch import Tensor

from sickbay import tasks
from sickbay.probe import gradient_patterns, loss_graph, recover_targets
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
    derived: bool = False  # the targets were worked out from the outputs and a difference

    @classmethod
    def of(
        cls, outputs: Tensor, targets: Tensor, loss: str = "", output: str = "", value: Any = None
    ) -> Pair:
        shapes = tuple(outputs.shape), tuple(targets.shape)
        return cls(excerpt(outputs), excerpt(targets), shapes, loss, output, value)

    def has_one_target(self) -> bool:
        """Return whether all targets are the same."""
        return bool((self.targets == self.targets.flatten()[:1]).all())

    def some_targets(self, count: int) -> Any:
        """Return the targets of the first samples as an array."""
        some = self.targets[:count] if self.targets.ndim else self.targets.reshape(1)
        return (some.float() if some.is_floating_point() else some).cpu().numpy()


@dataclass(frozen=True)
class Seen:
    """What was read of the batch of one step."""

    inputs: Tensor | None
    tokens: Tensor | None  # the last of the inputs that are rows of whole numbers
    output: Tensor | None
    shape: tuple[int, ...]  # of the whole output
    activation: str  # that produced the output
    gradient: Tensor | None  # of the loss with respect to the output
    pairs: list[Pair]
    loss: Tensor | None
    traced: loss_graph.Origin
    direct: bool  # whether the loss was computed from the model's own output
    strays: int
    heard: Mapping[str, float] = field(default_factory=dict)  # of terms and critics
    alone: bool = True  # the model takes no other input
    several: bool = False  # the loss has terms that are losses of different kinds
    passes: int = 0  # through the model, up to as many as there may be pairs
    stretched: bool = False  # the loss compares every output with every target
    looks_ahead: bool = False  # attention over the tokens has no mask
    passed_on: bool = False  # another model judges the output
    linear: bool = False  # the output is a linear function of the inputs
    viewed_apart: bool = False  # a view in place of a transpose gives the loss its classes
    squeezed: str = ""  # the activation right before a log-softmax of a term of the loss
    over_samples: bool = False  # a softmax near the loss runs over the samples
    over_positions: bool = False  # a softmax in the loss runs over the positions of a sequence
    averages_errors: bool = False  # errors of a sample are averaged before they are squared

    def on_cpu(self, meter: Meter) -> Seen:
        """Return it with tensors on the CPU, which a late meter fills in later."""

        def moved(owner: Any, *names: str) -> Any:
            found = ((name, getattr(owner, name)) for name in names)
            on_gpu = [(name, each) for name, each in found if each is not None and not each.is_cpu]
            return replace(owner, **{name: meter.copy(each) for name, each in on_gpu})

        inputs = None if self.inputs is None else excerpt(self.inputs)
        tokens = None if self.tokens is None else excerpt(self.tokens)
        pairs = [moved(each, "outputs", "targets", "value") for each in self.pairs]
        seen = replace(self, inputs=inputs, tokens=tokens, pairs=pairs)
        copied: Seen = moved(seen, "inputs", "tokens", "output", "gradient", "loss")
        return copied


def recovered(seen: Seen) -> list[Pair]:
    """Work out the targets from the gradient, if the loss was computed from the model's output."""
    output, gradient, loss, traced = seen.output, seen.gradient, seen.loss, seen.traced
    if output is None or gradient is None or output.shape != gradient.shape:
        return []
    if traced.loss == "cross_entropy" and (output.ndim > 2 or output.shape != seen.shape):
        return _recovered_rows(seen, output, gradient)
    if loss is None or loss.ndim or output.shape != seen.shape:
        return []
    found = None
    if seen.direct and not traced.stretched:
        found = recover_targets.targets(traced.loss, loss, output, gradient)
    if found is None and seen.direct and traced.loss == "mse" and traced.bare:
        found = recover_targets.stand_ins(loss, output, gradient)
    if found is not None:
        return [Pair.of(output, found, traced.loss, traced.output)]
    if traced.stretched or traced.loss in tasks.DISTANCES:
        return []
    pattern = gradient_patterns.find(seen.activation, output, gradient)
    return [] if pattern is None else [Pair.of(output, pattern[1], pattern[0], seen.activation)]


def _recovered_rows(seen: Seen, output: Tensor, gradient: Tensor) -> list[Pair]:
    """Work out the classes of every position, where those of a position are in the last dimension.

    Of a large output only the first samples are known.
    """
    width = output.shape[-1]
    rows, total = output.reshape(-1, width), prod(seen.shape) // max(1, width)
    found = recover_targets.classes(rows, gradient.reshape(-1, width), total)
    if found is None:
        return []
    pair = Pair.of(rows, found, seen.traced.loss, seen.traced.output)
    return [replace(pair, shapes=((total, width), (total,)))]
