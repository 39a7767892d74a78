"""Finding out what a loss accepts by calling it, and which labels it takes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Setup
from sickbay.checkups.class_outputs import class_dimension

DISTANCES = ("mse", "l1", "smooth_l1", "huber")
TRIED_LABELS = 16


def output_of(setup: Setup) -> Tensor:
    """Return the output for the batch, even if the loss rejects it.

    Raise `Inapplicable` if the model itself does not run; another test reports that.
    """
    try:
        return setup.first_pass.output
    except Inapplicable:
        pass
    try:
        return setup.evaluate(setup.batch)
    except Exception:
        raise Inapplicable("the model does not run on the batch") from None


def accepts(setup: Setup, output: Tensor, targets: Tensor | None = None) -> bool:
    """Return whether the loss can be computed from an output and, if given, other targets."""
    batch = setup.batch if targets is None else replace(setup.batch, targets=targets)
    try:
        setup.loss_of(output, batch)
    except Exception:
        return False
    return True


def needs_more_than_output(setup: Setup) -> bool:
    """Return whether the user's loss uses more than the main output."""
    try:
        expected = setup.first_pass.loss
    except Inapplicable:
        return False
    if not setup.has_loss:
        return False
    try:
        again = setup.loss_of(setup.first_pass.output, setup.batch)
    except Exception:
        return True
    return again is None or not torch.allclose(again, expected, equal_nan=True)


def has_labels(setup: Setup, output: Tensor) -> bool:
    """Return whether targets are class numbers, one for each sample or position."""
    targets = setup.targets
    if targets.shape == output.shape or class_dimension(output, targets) is None:
        return False
    try:
        first = setup.first_pass
    except Inapplicable:
        return not targets.is_floating_point() and targets.ndim == output.ndim - 1
    return first.has_loss and first.origin.loss in ("cross_entropy", "nll")


def rejected_labels(setup: Setup, output: Tensor, classes: int) -> list[int]:
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
