"""Return whether tensors hold only finite numbers."""

from collections.abc import Iterable, Sequence
from math import isfinite

import torch
from torch import Tensor

from sickbay.probe.gradient_norms import EXACT, exact


def all_finite(values: Iterable[Tensor]) -> bool:
    """Return whether every value is finite, waiting for a device only once.

    Looks at the norms first, which is many times faster, and at the values if a norm overflows.
    """
    with torch.no_grad():
        found = [
            each if each.dtype in EXACT and not each.is_sparse else exact(each)
            for each in values
            if each.dtype in EXACT or each.is_floating_point() or each.is_complex()
        ]
        norms = torch._foreach_norm(_fewer(found)) if found else []
        return all(map(isfinite, _numbers(norms))) or all(
            bool(each.isfinite().all()) for each in found
        )


def _fewer(found: list[Tensor]) -> list[Tensor]:
    """Join vectors on the CPU, where most of the time goes by the number of tensors."""
    vectors = [each for each in found if each.ndim == 1]
    alike = {(each.device.type, each.dtype) for each in vectors}
    if len(vectors) < 2 or len(alike) > 1 or not vectors[0].is_cpu:
        return found
    return [*(each for each in found if each.ndim != 1), torch.cat(vectors)]


def _numbers(norms: Sequence[Tensor]) -> list[float]:
    """Return the norms on the CPU; of those on a device the sum, to wait for it only once."""
    if all(norm.is_cpu for norm in norms):
        return [norm.item() for norm in norms]
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for norm in norms:
        groups.setdefault((norm.device, norm.dtype), []).append(norm)
    return [torch.stack(group).sum().item() for group in groups.values()]
