"""Recognising norm layers by what they do to random inputs."""

import torch
from torch import Tensor, nn

TORCH_NORMS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.GroupNorm),
    *(nn.LayerNorm, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
    *([nn.RMSNorm] if hasattr(nn, "RMSNorm") else []),
)
FACTOR = 3.0  # by which inputs are scaled
SLACK = 0.05
RIGHT, SQUARED, MULTIPLIED = 0, -1, 2  # powers of the input's scale in the output


def norm_power(layer: nn.Module, values: Tensor) -> int | None:
    """Return how the output of a layer scales with its input, None if it is no norm layer.

    0 is right: three times as large inputs give the same output. -1 and 2 are mistakes: a norm that
    divides by the variance, or multiplies instead of dividing. A candidate is a layer without
    children and matrices that maps a tensor to one of the same shape, and whose values influence
    each other.
    """
    if any(True for _ in layer.children()) or any(each.ndim > 1 for each in layer.parameters()):
        return None
    try:
        usual = without_shift(layer, values)
        again, scaled = without_shift(layer, values), without_shift(layer, FACTOR * values)
        if usual.shape != values.shape or not close(usual, again) or not _mixes(layer, values):
            return None
    except Exception:
        return None
    powers = (RIGHT, SQUARED, MULTIPLIED)
    return next((power for power in powers if close(usual * FACTOR**power, scaled)), None)


def without_shift(layer: nn.Module, values: Tensor) -> Tensor:
    """Return the output of a layer, minus its one-dimensional parameters that are added."""
    with torch.no_grad():
        zero = torch.as_tensor(layer(torch.zeros_like(values)))
        output = torch.as_tensor(layer(values))
    return output - zero if zero.isfinite().all() else output


def close(one: Tensor, other: Tensor) -> bool:
    """Return whether two outputs are the same but for a small error."""
    return bool((one - other).norm() <= SLACK * one.norm())


def _mixes(layer: nn.Module, values: Tensor) -> bool:
    """Return whether one value changes outputs at other places."""
    changed = values.clone().flatten()
    changed[0] = 10 * values.abs().max()
    with torch.no_grad():
        return bool((layer(values) != layer(changed.view_as(values))).flatten()[1:].any())
