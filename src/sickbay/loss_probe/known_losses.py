"""Recognise a loss by its gradient: it is torch's if their gradients always point the same way."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from sickbay.loss_probe.answers import Answers
from sickbay.loss_probe.calls import Calls

Function: TypeAlias = Callable[[Tensor, Tensor], Tensor]
SEEDS = (1, 2)
OFF = 1e-3  # of a gradient's length may point elsewhere


def _nll(outputs: Tensor, hot: Tensor) -> Tensor:
    return -(outputs * hot).mean()


# By what the targets are; the outputs are compared with answers in their own shape.
OF_ANSWERS: Mapping[str, Function] = {"bce_logits": F.binary_cross_entropy_with_logits}
OF_SHARES: Mapping[str, Function] = {"bce": F.binary_cross_entropy}
OF_VALUES: Mapping[str, Function] = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth_l1": F.smooth_l1_loss,
}


def name_and_sign(calls: Calls, answers: Answers) -> tuple[str, float]:
    """Return the name of the loss and 1, or -1 if its sign is wrong; "" and 0 if it is unknown."""
    known: Mapping[str, Function] = OF_VALUES
    if answers.kind == "classes":
        cross_entropy = _cross_entropy(answers.dimension)
        known = {"cross_entropy": cross_entropy, "nll": _nll, **OF_ANSWERS}
    elif answers.kind == "answers":
        known = OF_ANSWERS
    points = [answers.random(seed) for seed in SEEDS]
    if found := _match(calls, answers, known, points):
        return found
    if answers.kind == "values":
        return "", 0.0
    shares = [point.sigmoid() for point in points]
    return _match(calls, answers, OF_SHARES, shares) or ("", 0.0)


def _cross_entropy(dimension: int) -> Function:
    def cross_entropy(outputs: Tensor, hot: Tensor) -> Tensor:
        return -(outputs.log_softmax(dimension) * hot).mean()

    return cross_entropy


def _match(
    calls: Calls, answers: Answers, known: Mapping[str, Function], points: list[Tensor]
) -> tuple[str, float] | None:
    found = [calls(point).gradient for point in points]
    for name, function in known.items():
        pairs = zip(found, points, strict=True)
        scales = [_scale(each, _gradient(function, point, answers.right)) for each, point in pairs]
        first = scales[0]
        if first and all(abs(each - first) <= 0.01 * abs(first) for each in scales):
            return name, 1.0 if first > 0 else -1.0
    return None


def _gradient(function: Function, point: Tensor, right: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = point.detach().clone().requires_grad_()
        [gradient] = torch.autograd.grad(function(leaf, right), leaf)
    return gradient


def _scale(gradient: Tensor | None, reference: Tensor) -> float:
    """Return by how much a gradient is longer than another one, 0 if it points elsewhere."""
    if gradient is None or not bool(gradient.isfinite().all()) or not bool(gradient.any()):
        return 0.0
    scale = (gradient * reference).sum() / reference.square().sum().clamp(min=1e-30)
    rest = (gradient - scale * reference).norm()
    return float(scale) if rest <= OFF * gradient.norm() else 0.0
