"""Labels of classes, and which of them a loss takes."""

from __future__ import annotations

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.case import Case
from sickbay.checkups.class_outputs import class_dimension
from sickbay.checkups.loss_levels import takes

MOST = 16  # labels that are tried


def labelled(case: Case, output: Tensor) -> bool:
    """Tell whether the targets are numbers of classes, one for each sample or place."""
    targets = case.targets
    if targets.shape == output.shape or class_dimension(output, targets) is None:
        return False
    try:
        return case.seen.compared and case.seen.origin.loss in ("cross_entropy", "nll")
    except Inapplicable:
        return not targets.is_floating_point() and targets.ndim == output.ndim - 1


def refused(case: Case, output: Tensor, width: int) -> list[int]:
    """Return the labels of the whole batch that no output is for, and that are not ignored either.

    The loss is asked, on the CPU, where a label it does not take is an error and no more.
    """
    output, targets = output.detach().cpu(), case.targets.cpu()
    labels = torch.unique(case.given_batch.targets).tolist()
    odd = [each for each in labels if not 0 <= each < width]
    plain = torch.zeros_like(targets)
    if not takes(case, output, plain):
        return []

    def is_taken(label: float) -> bool:
        tried = plain.clone()
        tried.view(-1)[0] = label
        return takes(case, output, tried)

    ends = {*odd[: MOST // 2], *odd[-MOST // 2 :]}
    return sorted(int(each) for each in ends if not is_taken(each))
