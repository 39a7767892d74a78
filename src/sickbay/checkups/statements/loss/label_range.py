"""Labels beyond the last output: whether the labels are wrong, or the outputs too few."""

from collections.abc import Sequence

import torch

from sickbay.checkups.base import ModelSetup


def needs_more_outputs(setup: ModelSetup, classes: int, rejected: Sequence[int]) -> bool:
    """Return whether labels go on without a gap after the last output, as those of classes do.

    Labels from 1 to the number of classes are wrong themselves.
    """
    if not rejected or min(rejected) < classes:
        return False
    labels, most = set(torch.unique(setup.given_targets).tolist()), max(rejected)
    from_one = most == classes and min(labels) == 1
    return not from_one and all(each in labels for each in range(classes, most + 1))
