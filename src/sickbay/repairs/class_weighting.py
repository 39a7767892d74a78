"""Whether a loss weighs classes, found out by calling it."""

from __future__ import annotations

from math import log

import torch
from torch import Tensor

from sickbay.recipe import Loss

UNEVEN = 1.5  # times as heavy as another class
SURE = 1.0  # a logit, beyond that of all other classes together
MOST_CLASSES = 64


def weighs_classes(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss takes mistakes about one class more seriously than about another.

    `outputs` are some of a model, one for a yes or one for each class; only their shape matters.
    The same answers are given about each class: ignorant ones, right ones and wrong ones, as logits
    or, if the loss does not take these, as probabilities. Weights make all of them matter more for
    one class than for another. A loss of ordered classes makes only some matter more: to be off by
    one may cost the same everywhere.

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
    rows = torch.stack([(labels == each).nonzero()[0, 0] for each in classes])
    tried = (_answers(outputs, labels[rows], logits) for logits in (True, False))
    found = (_unevenness(loss, each, targets[rows]) for each in tried)
    return next((each for each in found if each is not None), 1.0) >= UNEVEN


def _labels(outputs: Tensor, targets: Tensor) -> Tensor | None:
    """Return the class of each sample, None if there is not one of them for each."""
    if len(outputs) != len(targets) or targets.numel() != len(targets) or outputs.ndim > 2:
        return None
    labels = targets.flatten().double()
    if outputs.numel() == len(outputs):
        return labels if bool(((labels == 0) | (labels == 1)).all()) else None
    whole = not targets.is_floating_point() and bool((labels >= 0).all())
    return labels if whole and int(labels.max()) < outputs.shape[1] else None


def _answers(outputs: Tensor, classes: Tensor, logits: bool) -> Tensor:
    """Return the same answers about each class: for each kind, a row for each class.

    >>> _answers(torch.zeros(4, 2), torch.tensor([1.0, 0.0]), True)[1].round().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    if outputs.numel() == len(outputs):
        right = torch.tensor([0.0, -SURE, SURE])[:, None] * (2 * classes.cpu() - 1)
        made = right if logits else right.sigmoid()
        return made.reshape(*made.shape, *outputs.shape[1:]).to(outputs)
    width = outputs.shape[1]
    off_by = torch.eye(width) * (SURE + log(width))
    kinds = torch.cat([torch.zeros(1, width), off_by])
    made = torch.stack([kinds.roll(int(each), 1) for each in classes], 1)
    return (made if logits else made.softmax(2)).to(outputs)


def _unevenness(loss: Loss, answers: Tensor, targets: Tensor) -> float | None:
    """Return how many times harder one class is pulled than another, whatever the answer.

    None if the loss takes other answers.
    """
    made = answers.flatten(0, 1).requires_grad_()
    known = targets.repeat(len(answers), *[1] * (targets.ndim - 1))
    try:
        with torch.enable_grad():
            (pull,) = torch.autograd.grad(loss(made, known), made)
    except Exception:  # a loss of probabilities may refuse logits
        return None
    sizes = pull.flatten(1).norm(dim=1) if pull.ndim > 1 else pull.abs()
    sizes = sizes.reshape(len(answers), -1).double()
    if not bool((sizes.isfinite() & (sizes > 0)).all()):
        return None
    ratios = sizes[:, :, None] / sizes[:, None, :]
    return float(ratios.min(0).values.max())
