"""Recognise the targets of a loss written by hand from the pattern of the outputs' gradient.

Whatever a loss is called and however it is scaled, its gradient shows what it compares: that of a
cross-entropy is a multiple of the softmax less the one-hot target, and so on. A negative multiple
means that the loss has the wrong sign. All samples of a class must have the same multiple.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

SAME = 0.01  # relative difference of multiples that is still rounding
SURE = 1e-3  # less than this from certain, the multiple of a sample is rounding
FEW = 8  # samples needed


def find(activation: str, outputs: Tensor, gradient: Tensor) -> tuple[str, Tensor] | None:
    """Return the kind of the loss and the targets, None if there is no pattern.

    >>> outputs = torch.linspace(-2, 2, 36).reshape(12, 3).requires_grad_()
    >>> classes = torch.arange(12) % 3
    >>> hand_written = outputs.softmax(1)[range(12), classes].log().sum()
    >>> hand_written.backward()
    >>> kind, found = find("linear", outputs.detach(), outputs.grad)
    >>> kind, found.equal(classes)
    ('cross_entropy', True)
    """
    if outputs.ndim > 2 or len(outputs) < FEW or not bool(gradient.abs().max() > 0):
        return None
    outputs, gradient = outputs.double(), gradient.double()
    columns = outputs.shape[1] if outputs.ndim == 2 else 1
    if columns > 1 and activation in ("log_softmax", "softmax"):
        found = _one_a_row(outputs, gradient, activation == "softmax")
        if found is not None:
            return "nll" if activation == "log_softmax" else "log_likelihood", found
    if (
        columns > 2
        and activation == "linear"
        and (found := _classes(outputs, gradient)) is not None
    ):
        return "cross_entropy", found
    if activation in ("linear", "sigmoid"):
        found = _answers(outputs, gradient, activation == "sigmoid")
        if found is not None:
            return "bce_logits" if activation == "linear" else "bce", found
    return None


def _one_a_row(outputs: Tensor, gradient: Tensor, probabilities: bool) -> Tensor | None:
    """Return the only column of each row that has a gradient: that of a log-likelihood."""
    if not bool(((gradient != 0).sum(1) == 1).all()):
        return None
    classes = gradient.abs().argmax(1)
    multiple = -(gradient * outputs if probabilities else gradient).sum(1)
    return classes if _is_same(multiple, classes) else None


def _classes(outputs: Tensor, gradient: Tensor) -> Tensor | None:
    """Return the classes of a softmax: the gradient is a multiple of p - one_hot."""
    likely = outputs.softmax(1)
    for classes in (gradient.argmin(1), gradient.argmax(1)):
        wanted = torch.nn.functional.one_hot(classes, outputs.shape[1])
        of_class = classes[:, None]
        left = 1 - likely.gather(1, of_class)
        multiple = -gradient.gather(1, of_class) / left
        off = (gradient - multiple * (likely - wanted)).abs().amax(1)
        sure = left.squeeze(1) < SURE
        fits = (off <= SAME * multiple.squeeze(1).abs() * left.squeeze(1)) | sure
        if bool(fits.all()) and _is_same(multiple.squeeze(1)[~sure], classes[~sure]):
            return classes
    return None


def _answers(outputs: Tensor, gradient: Tensor, probabilities: bool) -> Tensor | None:
    """Return the yes-or-no answers of a logistic loss, None if both signs fit."""
    likely = outputs if probabilities else outputs.sigmoid()
    fitting = []
    for answers, multiple in _signs(likely, gradient, probabilities):
        known = torch.where(answers, 1 - likely, likely) > SURE
        if _is_same(gradient.abs()[known], answers[known]):  # as that of a mean of the outputs
            return None
        if _is_same(multiple[known], answers[known]):
            fitting.append(answers.float())
    return fitting[0] if len(fitting) == 1 else None


def _signs(
    likely: Tensor, gradient: Tensor, probabilities: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the answers and their multiples for a loss with the right sign, and the wrong one."""
    for answers in (gradient < 0, gradient > 0):
        if probabilities:
            yield answers, torch.where(answers, -gradient * likely, gradient * (1 - likely))
        else:
            yield answers, torch.where(answers, -gradient / (1 - likely), gradient / likely)


def _is_same(multiple: Tensor, classes: Tensor) -> bool:
    """Return whether multiples have one sign, and one value for each class."""
    if multiple.numel() < FEW or not bool(multiple.isfinite().all()):
        return False
    if not bool((multiple > 0).all()) and not bool((multiple < 0).all()):
        return False
    for each in torch.unique(classes):
        own = multiple[classes == each]
        if float(own.std(unbiased=False)) > SAME * float(own.mean().abs()):
            return False
    return True
