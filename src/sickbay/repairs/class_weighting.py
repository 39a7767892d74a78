"""Whether a loss weighs classes, found out by calling it."""

from __future__ import annotations

import torch
from torch import Tensor

from sickbay.recipe import Loss

UNEVEN = 1.5  # times as heavy as another class
IGNORANT = (0.0, 0.5)  # outputs that favour no class: logits, and the probability of a yes
FEW = 8  # samples of each class
MOST_CLASSES = 64


def weighs_classes(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss takes mistakes about one class more seriously than about another.

    `outputs` are some of a model, one for a yes or one for each class; only their shape matters. A
    loss without weights pulls ignorant outputs equally hard towards each class.

    >>> from torch.nn import functional
    >>> def weighted(outputs, labels):
    ...     each = functional.cross_entropy(outputs, labels, reduction="none")
    ...     return (each * torch.tensor([1.0, 4.0])[labels]).mean()
    >>> labels = torch.arange(20) % 2
    >>> weighs_classes(weighted, torch.zeros(20, 2), labels)
    True
    >>> weighs_classes(functional.cross_entropy, torch.zeros(20, 2), labels)
    False
    """
    labels = _labels(outputs, targets)
    if labels is None:
        return False
    classes = sorted(set(labels.tolist()))
    if not 2 <= len(classes) <= MOST_CLASSES:
        return False
    rows = torch.cat([(labels == each).nonzero()[:FEW, 0] for each in classes])
    some = outputs[rows], targets[rows], labels[rows]
    known = [_unevenness(loss, *some, value) for value in IGNORANT]
    return min((each for each in known if each is not None), default=1.0) >= UNEVEN


def _labels(outputs: Tensor, targets: Tensor) -> Tensor | None:
    """Return the class of each sample, None if there is not one of them for each."""
    if len(outputs) != len(targets) or targets.numel() != len(targets) or outputs.ndim > 2:
        return None
    labels = targets.flatten().double()
    if outputs.numel() == len(outputs):
        return labels if bool(((labels == 0) | (labels == 1)).all()) else None
    whole = not targets.is_floating_point() and bool((labels >= 0).all())
    return labels if whole and int(labels.max()) < outputs.shape[1] else None


def _unevenness(
    loss: Loss, outputs: Tensor, targets: Tensor, labels: Tensor, value: float
) -> float | None:
    """Return how many times harder the heaviest class is pulled than the lightest."""
    even = torch.full_like(outputs, value, requires_grad=True)
    with torch.enable_grad():
        (pull,) = torch.autograd.grad(loss(even, targets), even)
    sizes = pull.flatten(1).norm(dim=1) if pull.ndim > 1 else pull.abs()
    means = torch.stack([sizes[labels == each].mean() for each in set(labels.tolist())])
    if not bool((means.isfinite() & (means > 0)).all()):
        return None
    return float(means.max() / means.min())
