"""Whether a matrix looks drawn at random, told by its numbers alone."""

from math import sqrt

import torch
from torch import Tensor

LEAST = 256  # numbers that show how they are distributed
DISTINCT = 0.95  # share of different sizes: computed tables repeat theirs
ERRORS = 5  # standard errors by which the mean of random numbers may be off
NORMAL, EVEN = 3.0, 1.8  # mean fourth power of numbers drawn so, divided by their deviation
NORMAL_SPREAD, EVEN_SPREAD = 5, 1  # of fourth powers, roughly; it makes their mean less certain
CUBED_SPREAD = 4  # of third powers, roughly


def looks_random(values: Tensor) -> bool:
    """Return whether a matrix looks drawn: no value twice, no trend, and a usual distribution.

    >>> _ = torch.manual_seed(0)
    >>> looks_random(torch.randn(20, 20)), looks_random(torch.rand(20, 20))
    (True, True)
    >>> looks_random(torch.arange(400.0).view(20, 20)), looks_random(torch.randn(400))
    (False, False)
    """
    if values.ndim < 2 or values.numel() < LEAST or not values.is_floating_point():
        return False
    known = values.detach().double().cpu().flatten(1)
    known = (known - known.mean()) / known.std().clamp(min=1e-12)
    if not bool(known.isfinite().all()):
        return False
    return _differs(known) and not _has_trend(known) and _is_usual(known)


def _differs(known: Tensor) -> bool:
    """Return whether hardly any size occurs twice, as in a table of sines."""
    return len(torch.unique(known.abs())) >= DISTINCT * known.numel()


def _has_trend(known: Tensor) -> bool:
    """Return whether numbers are like their neighbours, or lean to one side."""
    pairs = (known[1:] * known[:-1], known[:, 1:] * known[:, :-1])
    means = [each.mean().item() for each in pairs if each.numel()]
    lean = known.pow(3).mean().item() / CUBED_SPREAD
    return max(map(abs, [*means, lean])) > ERRORS / sqrt(known.numel())


def _is_usual(known: Tensor) -> bool:
    """Return whether numbers are spread as `randn` or `rand` spreads them."""
    peak, allowed = known.pow(4).mean().item(), ERRORS / sqrt(known.numel())
    normal = abs(peak - NORMAL) < NORMAL_SPREAD * allowed
    return normal or abs(peak - EVEN) < EVEN_SPREAD * allowed
