"""Longer than 60 lines: it also tries which shapes the loss would take."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement
from sickbay.checkups.class_outputs import class_dimension, one_hot
from sickbay.checkups.loss_probes import (
    accepts,
    has_labels,
    needs_more_than_output,
    output_of,
    rejected_labels,
)
from sickbay.checkups.statements.loss.label_range import needs_more_outputs
from sickbay.tasks import DISTANCES

TARGET_SIZE = "Using a target size"  # how the warning of torch's losses begins


@dataclass(frozen=True, kw_only=True)
class OutputFitsTheTargets(Statement):
    """Outputs have the shape that the targets require.

    Why it matters:
        A loss broadcasts shapes that differ, and then compares every output with every target.

    How it is tested:
        There is an output for every label, and more than one output. The loss does not change if
        the outputs are first reshaped like the targets. If the loss raises, other shapes are tried.
    """

    order = 1
    remedy = "print the shapes of outputs and targets; squeeze, unsqueeze or widen the last layer"

    def examine(self, setup: ModelSetup) -> Result:
        targets = setup.targets
        output = output_of(setup)
        if needs_more_than_output(setup):
            raise Inapplicable("the loss uses more than one output")
        shapes = f"outputs are {tuple(output.shape)}, targets {tuple(targets.shape)}"
        integers = torch.zeros_like(targets).long()
        if not accepts(setup, output) and not accepts(setup, output, integers):
            for description, reshaped, wanted in _other_shapes(output, targets):
                if accepts(setup, reshaped, wanted):
                    return self.fails(f"{shapes}; the loss takes {description}")
        if not has_labels(setup, output):
            if setup.once(is_broadcast):
                return self.fails(f"{shapes}: the loss broadcasts them to each other")
            return self.holds(shapes)
        classes = output.shape[class_dimension(output, targets) or 0]
        if classes == 1:
            return self.fails(f"{shapes}: cross-entropy over one output is always 0")
        rejected = rejected_labels(setup, output, classes)
        if needs_more_outputs(setup, classes, rejected):
            message = f"the highest label is {max(rejected)}, but there are only {classes} outputs"
            return self.fails(message, width=classes, largest=max(rejected))
        if rejected:
            raise Inapplicable("the labels are wrong, see targets_are_sane")
        return self.holds(shapes)


def _other_shapes(output: Tensor, targets: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield outputs and targets in other shapes, each with a description."""
    if targets.ndim > 1 and targets.shape[-1] == 1:
        yield "targets without their last dimension", output, targets.squeeze(-1)
    if output.ndim > 1 and output.shape[-1] == 1:
        yield "targets of the same shape as the outputs", output, targets.unsqueeze(-1)
    if output.ndim > 2:
        yield "classes in the second dimension", output.movedim(-1, 1), targets
    dimension = class_dimension(output, targets)
    if dimension and targets.shape != output.shape and output.shape[dimension] > 1:
        yield "a target for every output", output, one_hot(output, targets, dimension)


def is_broadcast(setup: ModelSetup) -> bool:
    """Return whether the loss compares outputs with targets of another shape, each with each."""
    first, targets = setup.first_pass_or_error, setup.targets
    if isinstance(first, Exception) or not setup.has_loss or first.main is None:
        return False
    output = first.main
    if output.shape == targets.shape:
        return False
    if needs_more_than_output(setup) or has_labels(setup, output):
        return False
    return _torch_warns(setup) or _compares_each(setup, output, targets)


def _torch_warns(setup: ModelSetup) -> bool:
    """Return whether torch warns that a loss gets targets of another size than its input."""
    with setup.model_copy() as model, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        setup.loss_of(setup.run(model, setup.batch), setup.batch)
    return any(TARGET_SIZE in str(each.message) for each in told)


def _compares_each(setup: ModelSetup, output: Tensor, targets: Tensor) -> bool:
    """Return whether matching shapes change the loss, or broadcasting does not."""
    output = torch.rand_like(output)  # the model's own may all be equal
    same_count, loss = output.numel() == targets.numel(), setup.first_pass.origin.loss
    if not same_count and loss not in DISTANCES:
        return False
    try:
        now, batch = setup.loss_of(output, setup.batch), setup.batch
        if same_count:
            output = output.reshape(targets.shape)
        else:
            output, targets = torch.broadcast_tensors(output, targets)  # type: ignore[no-untyped-call]
            batch = replace(batch, targets=targets)
        then = setup.loss_of(output, batch)
    except Exception:
        return False
    if now is None or then is None:
        return False
    return torch.allclose(now, then, rtol=1e-4) != same_count
