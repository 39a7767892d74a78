"""Whether tensors hold nothing but numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

import torch
from torch import Tensor

from sickbay.probe.gradient_norms import EXACT, plain


def all_finite(values: Iterable[Tensor]) -> bool:
    """Tell whether every value is finite; one wait for a device, however many tensors there are.

    Norms are read first: that is many times faster. One of them may overflow where no value does.
    """
    with torch.no_grad():
        found = [
            each if each.dtype in EXACT and not each.is_sparse else floating(each)
            for each in values
            if each.dtype in EXACT or each.is_floating_point() or each.is_complex()
        ]
        norms = torch._foreach_norm(fewer(found)) if found else []
        return all(map(isfinite, numbers(norms))) or all(
            bool(each.isfinite().all()) for each in found
        )


def fewer(found: list[Tensor]) -> list[Tensor]:
    """Return the vectors among tensors in memory as one: most of the time goes by their number."""
    vectors = [each for each in found if each.ndim == 1]
    alike = {(each.device.type, each.dtype) for each in vectors}
    if len(vectors) < 2 or len(alike) > 1 or not vectors[0].is_cpu:
        return found
    return [*(each for each in found if each.ndim != 1), torch.cat(vectors)]


def floating(values: Tensor) -> Tensor:
    """Return values in a form whose norm is exact enough."""
    return torch.view_as_real(values) if values.is_complex() else plain(values)


def numbers(norms: Sequence[Tensor]) -> list[float]:
    """Return the norms themselves, or for those on a device their sum, waiting for it once."""
    if all(norm.is_cpu for norm in norms):
        return [norm.item() for norm in norms]
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for norm in norms:
        groups.setdefault((norm.device, norm.dtype), []).append(norm)
    return [torch.stack(group).sum().item() for group in groups.values()]
