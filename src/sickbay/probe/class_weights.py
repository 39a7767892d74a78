"""Work out the weights of classes from the gradient of the outputs.

The gradient of a cross-entropy is the softmax less the one-hot target, times the weight of the
class. So the weights show however they were passed to the loss.
"""

from collections.abc import Mapping
from math import log, nan

import numpy as np
import torch
from torch import Tensor

SAME = 0.01  # relative difference of multiples that is still rounding
SURE = 1e-3  # less than this from certain, the multiple of a sample is rounding
FEW, MANY = 3, 30  # samples of a class needed in a batch, and in all batches so far


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
