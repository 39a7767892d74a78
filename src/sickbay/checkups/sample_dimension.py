"""Which dimension of a batch counts samples, and whether they are samples at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch
from sickbay.checkups.sequences import next_of

if TYPE_CHECKING:
    from sickbay.checkups.case import Case


def ungraphed(batch: Batch) -> Batch:
    """Return a batch whose rows can be taken apart; those of a graph cannot."""
    size, main = batch.size, batch.main
    for each in batch.inputs:
        if each is main:
            continue
        edges = not each.is_floating_point() and each.ndim == 2 and each.shape[0] == 2 != size
        if each.layout != torch.strided or tuple(each.shape) == (size, size) or edges:
            raise Inapplicable("the rows of the input are parts of a graph")
        if each.ndim > batch.along and each.shape[batch.along] != size and size in each.shape:
            raise Inapplicable("an input counts the samples in another dimension")
    if size < 2:
        raise Inapplicable("the batch has one sample")
    return batch


def surely_first(case: Case) -> bool:
    """Tell whether targets prove that the first dimension counts samples."""
    main, targets = case.whole.main, case.whole.targets
    if case.whole.along or targets is None or not targets.ndim or main.ndim < 2:
        return False
    if next_of(main, targets, 1) == "next":
        return True
    return targets.shape[0] == main.shape[0] and targets.shape[:2] != main.shape[:2]


def by_sample(output: Tensor, samples: int, along: int) -> list[Tensor]:
    """Return the ways in which outputs may be rows of values, one for each sample."""
    ways = []
    if output.ndim > along and output.shape[along] == samples:
        ways.append(output.movedim(along, 0).reshape(samples, -1))
    if along and output.shape[0] == samples:
        ways.append(output.reshape(samples, -1))
    if not along and output.ndim > 2 and output.shape[1] == samples != output.shape[0]:
        ways.append(output.movedim(1, 0).reshape(samples, -1))
    if not ways and output.shape[0] % samples == 0:
        ways.append(output.reshape(samples, -1))
        ways.append(output.reshape(output.shape[0] // samples, samples, -1).movedim(1, 0))
    return [each.reshape(samples, -1) for each in ways]
