from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.class_outputs import class_dimension, one_hot
from sickbay.checkups.labels import labelled, refused
from sickbay.checkups.loss_levels import DISTANCES, answered, takes, takes_more
from sickbay.checkups.report import Result


@dataclass(frozen=True, kw_only=True)
class OutputFitsTheTargets(Statement):
    """Outputs have the shape that the targets ask for.

    Why it matters:
        A loss stretches shapes that do not fit, and then compares every output with every target.

    How it is tested:
        There is an output for every label, and more than one. The loss is not another one if the
        outputs are first given the shape of the targets. Where it raises an error, it is tried
        which shapes it takes.
    """

    remedy = "print the shapes of outputs and targets; squeeze, unsqueeze or widen the last layer"

    def examine(self, case: Case) -> Result:
        targets = case.targets
        output = answered(case)
        if takes_more(case):
            raise Inapplicable("the loss is made of more than one output")
        shapes = f"outputs are {tuple(output.shape)}, targets {tuple(targets.shape)}"
        if not takes(case, output) and not takes(case, output, torch.zeros_like(targets).long()):
            for words, mended, wanted in _mended(output, targets):
                if takes(case, mended, wanted):
                    return self.fails(f"{shapes}; the loss takes {words}")
        if not labelled(case, output):
            if _stretched(case, output, targets):
                return self.fails(f"{shapes}: the loss stretches them to fit each other")
            return self.holds(shapes)
        width = output.shape[class_dimension(output, targets) or 0]
        if width == 1:
            return self.fails(f"{shapes}: cross-entropy over one output is always 0")
        beyond = [each for each in refused(case, output, width) if each >= width]
        counted_from_one = beyond == [width] and case.given_batch.targets.min() == 1  # type: ignore[union-attr]
        if beyond and not counted_from_one:
            message = f"there are labels up to {max(beyond)}, but only {width} outputs"
            return self.fails(message, width=width, largest=max(beyond))
        return self.holds(shapes)


def _mended(output: Tensor, targets: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield outputs and targets in other shapes, and what they are."""
    if targets.ndim > 1 and targets.shape[-1] == 1:
        yield "targets without their last dimension", output, targets.squeeze(-1)
    if output.ndim > 1 and output.shape[-1] == 1:
        yield "targets of the shape of the outputs", output, targets.unsqueeze(-1)
    if output.ndim > 2:
        yield "classes in the second dimension", output.movedim(-1, 1), targets
    dimension = class_dimension(output, targets)
    if dimension and targets.shape != output.shape and output.shape[dimension] > 1:
        yield "a target for every output", output, one_hot(output, targets, dimension)


def _stretched(case: Case, output: Tensor, targets: Tensor) -> bool:
    """Tell whether the loss is another one if shapes fit, or the same if they are stretched."""
    if not case.has_loss or output.shape == targets.shape:
        return False
    loss = case.seen.origin.loss
    try:
        now = case.loss_of(output, case.batch)
        if output.numel() == targets.numel():
            then = case.loss_of(output.reshape(targets.shape), case.batch)
            return now is not None and then is not None and not torch.allclose(now, then, rtol=1e-4)
        if loss not in DISTANCES:
            return False
        output, targets = torch.broadcast_tensors(output, targets)  # type: ignore[no-untyped-call]
        then = case.loss_of(output, replace(case.batch, targets=targets))
    except Exception:
        return False
    return now is not None and then is not None and torch.allclose(now, then, rtol=1e-4)
