"""Standardising inputs inside the model: to a mean of 0 and a standard deviation of 1."""

from typing import Any

import torch
from torch import Tensor, nn

from sickbay.arguments import bad_argument, check_float, short_repr
from sickbay.errors import UsageError
from sickbay.model_copies import copy_of


def standardise_inputs(
    model: nn.Module, mean: Tensor, std: Tensor, *, clip: float = 10.0
) -> nn.Module:
    """Return a copy of the model that standardises its first argument.

    Args:
        model: The model, which is not touched.
        mean: The mean of the inputs, of a shape that fits them: (C, 1, 1) for images.
        std: Their standard deviation; a 0 counts as 1.
        clip: The most standard deviations that an input may be away from the mean.

    Example:
        >>> model = standardise_inputs(nn.Identity(), torch.tensor([5.0]), torch.tensor([2.0]))
        >>> model(torch.tensor([[5.0], [9.0], [1e9], [torch.nan]])).flatten().tolist()
        [0.0, 2.0, 10.0, 0.0]
    """
    check_statistics(mean, std)
    clip = check_float("clip", clip, above=0)
    copied = copy_of(model)
    tensors = [*copied.parameters(), *copied.buffers()]
    device = tensors[0].device if tensors else mean.device
    return Standardised(copied, mean.to(device), std.to(device), clip).train(model.training)


def check_statistics(mean: Tensor, std: Tensor) -> None:
    """Raise `UsageError` unless these are finite numbers, and no deviation is below 0."""
    for name, value in (("mean", mean), ("std", std)):
        _check(name, value)
    if bool((std < 0).any()):
        raise UsageError(f"std must be at least 0, got {short_repr(std.tolist())}.")


def _check(name: str, value: object) -> None:
    """Raise `UsageError` unless this is a tensor of finite real numbers."""
    if not isinstance(value, Tensor) or value.is_complex():
        raise bad_argument(name, "a tensor of real numbers", value)
    try:
        finite = bool(value.isfinite().all())
    except RuntimeError:  # it is quantised, sparse, or on the meta device
        raise bad_argument(name, "a tensor of real numbers", value) from None
    if not finite:
        raise UsageError(f"{name} must be finite, got {short_repr(value.tolist())}.")


class Standardised(nn.Module):
    """A model that standardises its first argument if that is floating-point.

    A missing value (NaN) becomes the mean.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, mean: Tensor, std: Tensor, clip: float) -> None:
        super().__init__()
        self.model, self.clip = model, clip
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("std", torch.where(std == 0, torch.ones_like(std), std.detach()))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Tensor) and args[0].is_floating_point():
            x = (args[0] - self.mean.to(args[0])) / self.std.to(args[0])
            x = x.nan_to_num(nan=0.0, posinf=self.clip, neginf=-self.clip)
            args = (x.clamp(-self.clip, self.clip), *args[1:])
        return self.model(*args, **kwargs)
