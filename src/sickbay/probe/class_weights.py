"""Work out the weights of classes from the gradient of the outputs.

The gradient of a cross-entropy is the softmax less the one-hot target, times the weight of the
class. So the weights show however they were passed to the loss.
"""

from collections.abc import Mapping
from math import log, nan

import numpy as np
import torch
from torch import Tensor

from sickbay.probe.constant_answer import ColumnMeans

SAME = 0.01  # relative difference of multiples that is still rounding
SURE = 1e-3  # less than this from certain, the multiple of a sample is rounding
FEW, MANY = 3, 30  # samples of a class needed in a batch, and in all batches so far
TAGS = 256  # more are pixels


def of_classes(outputs: Tensor, gradient: Tensor, targets: Tensor) -> dict[int, float]:
    """Return the weight of each class with a few samples, {} if the loss is no cross-entropy.

    All three are matrices of one shape: logits, their gradient, and one-hot
    classes; or one column of yes-or-no answers.

    >>> logits, classes = torch.randn(40, 3).requires_grad_(), torch.arange(40) % 3
    >>> weight = torch.tensor([1.0, 2.0, 4.0])
    >>> torch.nn.functional.cross_entropy(logits, classes, weight).backward()
    >>> one_hot = torch.nn.functional.one_hot(classes)
    >>> found = of_classes(logits.detach().double(), logits.grad.double(), one_hot)
    >>> [round(found[each] / found[0], 2) for each in range(3)]
    [1.0, 2.0, 4.0]
    """
    if outputs.shape[1] > 1:
        off, classes = outputs.softmax(1) - targets, targets.argmax(1)
    else:
        off, classes = outputs.sigmoid() - targets, targets[:, 0].long()
    size = off.square().sum(1)
    multiple = (gradient * off).sum(1) / size.clamp(min=1e-12)
    wrong = (gradient - multiple[:, None] * off).abs().amax(1)
    known = size.sqrt() > SURE
    if not bool((wrong <= SAME * gradient.abs().amax(1))[known].all()):
        return {}
    found: dict[int, float] = {}
    for each in torch.unique(classes).tolist():
        own = multiple[(classes == each) & known]
        if own.numel() and float(own.std(unbiased=False)) > SAME * float(own.mean().abs()):
            return {}
        if own.numel() >= FEW and float(own.mean()) > 0:
            found[each] = float(own.mean())
    return found


def slope(weights: Mapping[int, float], counts: Mapping[float, int]) -> float:
    """Return the power of its frequency by which a class is weighted, NaN if unknown.

    It is -1 where weights make up for frequencies, 0 without weights, and 1 where they are the
    frequencies themselves. Frequencies that differ less than twofold, and weights that do not
    follow them closely, tell nothing.

    >>> slope({0: 0.9, 1: 0.1}, {0: 900, 1: 100})
    1.0
    """
    pairs = [
        (log(counts[each]), log(weight))
        for each, weight in weights.items()
        if counts.get(each, 0) >= MANY
    ]
    if len(pairs) < 2:
        return nan
    often, heavy = np.array(pairs).T
    often, heavy = often - often.mean(), heavy - heavy.mean()
    if np.ptp(often) < log(2):
        return nan
    found = float(often @ heavy / (often @ often))
    follows = np.abs(heavy - found * often).max() <= 0.5 * np.ptp(often)
    return round(found, 6) if follows else nan


def of_tags(outputs: Tensor, gradient: Tensor, targets: Tensor) -> Tensor:
    """Return for each column how many times a yes weighs as much as a no, NaN if unknown.

    All three are matrices of one shape: logits, their gradient, and yes-or-no answers. A loss of
    another kind gives NaN everywhere.

    >>> logits, answers = torch.zeros(9, 2).requires_grad_(), (torch.arange(18) % 4 < 1).view(9, 2)
    >>> weight, answers = torch.tensor([0.5, 4.0]), answers.double()
    >>> bce = torch.nn.functional.binary_cross_entropy_with_logits
    >>> bce(logits, answers.float(), pos_weight=weight).backward()
    >>> [round(each, 2) for each in of_tags(logits.detach(), logits.grad, answers).tolist()]
    [0.5, nan]
    """
    off = outputs.double().sigmoid() - targets
    known = off.abs() > SURE
    multiple = gradient.double() / torch.where(known, off, nan)
    yes, no = (torch.where(targets == each, multiple, nan) for each in (1, 0))
    means = [each.nanmean(0) for each in (yes, no)]
    for each, mean in zip((yes, no), means, strict=True):
        if bool(((each - mean).abs() > SAME * mean.abs()).any()):
            return torch.full_like(mean, nan)
    enough = (~no.isnan()).sum(0) >= FEW
    return torch.where(enough & (means[1] > 0), means[0] / means[1], nan)


def slope_of_tags(ratios: Tensor, seen: ColumnMeans) -> float:
    """Return the power of its odds by which the yes to a tag is weighted, NaN if unknown.

    >>> seen = ColumnMeans()
    >>> seen.add((torch.arange(300) % 10 < 1).double().view(300, 1))
    >>> round(slope_of_tags(torch.tensor([9.0]), seen), 2)
    -1.0
    """
    if not 0 < len(ratios) <= TAGS or ratios.shape != seen.means.shape:
        return nan
    least = torch.minimum(seen.means, 1 - seen.means) * seen.number
    odds, heavy = (seen.means / (1 - seen.means)).log(), ratios.double().log()
    usable = (least >= MANY) & (odds.abs() >= log(2)) & heavy.isfinite()
    odds, heavy = odds[usable], heavy[usable]
    if not len(odds):
        return nan
    found = float(odds @ heavy / (odds @ odds))
    follows = (heavy - found * odds).abs().max() <= 0.5 * heavy.abs().max() + SAME
    return round(found, 6) if bool(follows) else nan
