"""How far a loss can fall behind the last activation of a model."""

from math import inf, isfinite

import torch

from sickbay.loss_probe.answers import Answers
from sickbay.loss_probe.calls import Called, Calls, same

LOGITS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
DOUBT = 1e-4


def reach(calls: Calls, answers: Answers, output: str) -> float:
    """Return how far bounded outputs let the loss fall, from ignorant answers to its least value.

    It is 1 unless the loss applies softmax or sigmoid itself, so that it takes any number.

    >>> from sickbay.loss_probe.answers import answers_to
    >>> made = answers_to(torch.rand(4, 2), y := torch.tensor([0, 1, 1, 0]))
    >>> round(reach(Calls(torch.nn.functional.cross_entropy, y), made, "softmax"), 2)
    0.55
    """
    hot, signs = answers.right, 2 * answers.right - 1
    if output in ("softmax", "sigmoid"):
        bounded, ignorant = answers.shares(hot, DOUBT), torch.full_like(hot, answers.chance)
    elif output == "tanh":
        bounded, ignorant = signs * (1 - DOUBT), torch.zeros_like(hot)
    else:
        return 1.0
    if not _takes_any_number(calls, answers):
        return 1.0
    chance, inside = calls(ignorant).value, calls(bounded).value
    outside = [calls(signs * size).value for size in LOGITS]
    least = min((each for each in (inside, *outside) if isfinite(each)), default=inf)
    fall = chance - least
    if not (isfinite(chance) and isfinite(inside) and fall > 1e-4 * max(abs(chance), 1e-3)):
        return 1.0
    return max(0.0, (chance - inside) / fall)


def _takes_any_number(calls: Calls, answers: Answers) -> bool:
    """Return whether the loss has a softmax or a sigmoid inside."""
    signs = 2 * answers.right - 1
    far, farther = calls(signs * 32), calls(signs * 64)
    if not (far.finite and farther.finite):
        return False
    if answers.kind == "classes":
        point = answers.random(9)
        rows = answers.random(10).narrow(answers.dimension, 0, 1)
        if same(calls(point), calls(point + rows)):
            return True
    return _is_smooth(calls(signs * 4), calls(signs * 8)) and abs(far.value - farther.value) < 1e-6


def _is_smooth(near: Called, far: Called) -> bool:
    """Return whether the loss still falls a little where it is almost least: no clamp cuts it."""
    return near.finite and far.finite and near.value >= far.value
