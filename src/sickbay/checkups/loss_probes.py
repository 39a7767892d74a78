"""Finding out what a loss accepts by calling it, and which labels it takes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup
from sickbay.checkups.batch import Batch
from sickbay.checkups.class_outputs import class_dimension
from sickbay.probe.loss_graph import nodes

TRIED_LABELS = 16


def output_of(setup: ModelSetup) -> Tensor:
    """Return the output for the batch, even if the loss rejects it.

    Raise `Inapplicable` if the model itself does not run; another test reports that.
    """
    first = setup.first_pass_or_error
    if not isinstance(first, Exception):
        return first.output
    try:
        return setup.evaluate(setup.batch)
    except Exception:
        raise Inapplicable("the model does not run on the batch") from None


def accepts(setup: ModelSetup, output: Tensor, targets: Tensor | None = None) -> bool:
    """Return whether the loss can be computed from an output and, if given, other targets."""
    batch = setup.batch if targets is None else replace(setup.batch, targets=targets)
    try:
        setup.loss_of(output, batch)
    except Exception:
        return False
    return True


def needs_more_than_output(setup: ModelSetup) -> bool:
    """Return whether the user's loss uses more than the main output."""
    first = setup.first_pass_or_error
    if isinstance(first, Exception) or not setup.has_loss:
        return False
    try:
        again = setup.loss_of(first.output, setup.batch)
    except Exception:
        return True
    return again is None or not torch.allclose(again, first.loss, equal_nan=True)


def ignores_targets(setup: ModelSetup, batch: Batch, raw: Any, others: Sequence[Tensor]) -> bool:
    """Return whether the loss of an output is the same for all these other targets."""
    targets = (batch.targets, *others)
    try:
        first, *rest = (setup.loss_of(raw, replace(batch, targets=each)) for each in targets)
    except Exception:
        return False
    return first is not None and all(each is not None and each.equal(first) for each in rest)


def has_weights(setup: ModelSetup, batch: Batch, output: Tensor) -> bool:
    """Return whether the loss trains weights that the model lacks, as those of a classifier."""
    own = {id(each) for each in setup.model.parameters()}
    try:
        loss = setup.loss_of(output.detach(), batch)
    except Exception:
        return False
    if loss is None or loss.grad_fn is None:
        return False
    leaves = (getattr(each, "variable", None) for each in nodes(loss.grad_fn))
    return any(each is not None and id(each) not in own for each in leaves)


def has_labels(setup: ModelSetup, output: Tensor) -> bool:
    """Return whether targets are class numbers, one for each sample or position."""
    targets = setup.targets
    if targets.shape == output.shape or class_dimension(output, targets) is None:
        return False
    first = setup.first_pass_or_error
    if isinstance(first, Exception):
        return not targets.is_floating_point() and targets.ndim == output.ndim - 1
    return first.has_loss and first.origin.loss in ("cross_entropy", "nll")


def rejected_labels(setup: ModelSetup, output: Tensor, classes: int) -> list[int]:
    """Return the labels of the full batch that have no output and that the loss does not ignore.

    The loss is called on the CPU, where a label out of range only raises an exception.
    """
    output, targets = output.detach().cpu(), setup.targets.cpu()
    labels = torch.unique(setup.given_batch.targets).tolist()
    outside = [label for label in labels if not 0 <= label < classes]
    zeros = torch.zeros_like(targets)
    if not accepts(setup, output, zeros):
        return []

    def is_accepted(label: float) -> bool:
        changed = zeros.clone()
        changed.view(-1)[0] = label
        return accepts(setup, output, changed)

    ends = {*outside[: TRIED_LABELS // 2], *outside[-TRIED_LABELS // 2 :]}
    return sorted(int(label) for label in ends if not is_accepted(label))
