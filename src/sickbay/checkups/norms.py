"""Norm layers, and whether one that somebody wrote normalises."""

from __future__ import annotations

from re import search

import torch
from torch import Tensor, nn

TORCHS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.GroupNorm),
    *(nn.LayerNorm, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
    *([nn.RMSNorm] if hasattr(nn, "RMSNorm") else []),
)
OWN = r"Norm(\d?[dD])?$"
OTHER = (
    r"Act|Weight|Spectral|Frozen|Response|Ada|Cond|Log|Add|Pre|Post|Res|Div|Min|Max"  # not these
)
CENTRED = r"(Layer|Batch|Group|Instance)Norm"
ALONE = r"(Layer|RMS|Group|Instance)Norm"  # each sample by itself
FEATURES = r"(Layer|RMS)Norm$"
EACH = r"BatchNorm"  # each feature by itself
SLACK = 0.05
WIDE = 10.0  # times too large or small


def norms_of(model: nn.Module) -> dict[str, nn.Module]:
    """Return torch's norm layers, and those that are called one and hold no others."""
    return {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, TORCHS) or _own(layer)
    }


def odd(layer: nn.Module, shape: tuple[int, ...]) -> str:
    """Say what a norm that somebody wrote does not do, "" if it does all, or is torch's."""
    if isinstance(layer, TORCHS) or len(shape) < 2 or shape[0] < 2:
        return ""
    kind = type(layer).__name__
    device = next((each.device for each in layer.parameters()), None)
    values = torch.randn(shape, device=device)
    try:
        usual = _of(layer, values)
        if usual.shape != values.shape or not _same(usual, _of(layer, values)):
            return ""
        if not _same(usual, _of(layer, 3 * values)):
            return "gives other outputs for inputs three times as large"
        moved = _of(layer, values + 2)
        if search(CENTRED, kind) and not _same(usual, moved) and not _like_rms(layer, moved):
            return "does not take off the mean"
        if not _of(layer, torch.zeros_like(values)).isfinite().all():
            return "gives NaN or Inf for zeros: it has no eps"
        if search(EACH, kind) and len(shape) in (2, 4):
            sizes = torch.linspace(1, 3, shape[1], device=device).view(-1, *[1] * (len(shape) - 2))
            if not _same(usual, _of(layer, values * sizes)):
                return "normalises over the features, not each of them over the batch"
        if not 1 / WIDE < (size := _size(layer, usual)) < WIDE:
            return f"puts out values of size {size:.2g}, not 1"
        rows = torch.linspace(1, 3, shape[0], device=device).view(-1, *[1] * (len(shape) - 1))
        if search(ALONE, kind) and not _same(usual, _of(layer, values * rows)):
            return "normalises over the batch"
        if search(FEATURES, kind) and len(shape) == 3 and shape[1] > 1:
            columns = torch.linspace(1, 3, shape[2], device=device)
            if _same(usual, _of(layer, values * columns)):
                return "normalises over dimension 1, not over the features"
    except Exception:
        return ""
    return ""


def _own(layer: nn.Module) -> bool:
    kind = type(layer).__name__
    return bool(search(OWN, kind)) and not search(OTHER, kind) and not list(layer.children())


def _of(layer: nn.Module, values: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.as_tensor(layer(values))


def _size(layer: nn.Module, values: Tensor) -> float:
    """Return the root mean square of what a layer puts out, but for its own weights."""
    scales = [each.detach().square().mean() for each in layer.parameters() if each.any()]
    weight = torch.stack(scales).max().sqrt() if scales else torch.ones(())
    return float(values.square().mean().sqrt() / weight.clamp(min=1e-12))


def _like_rms(layer: nn.Module, moved: Tensor) -> bool:
    """Tell whether a layer leaves the mean, as some do that are called layer norms."""
    return len(list(layer.parameters())) < 2 and abs(_size(layer, moved) - 1) < SLACK


def _same(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).norm() <= SLACK * one.norm())
