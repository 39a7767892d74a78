"""Scaling outputs inside the model, from numbers around 0 to the units of the targets."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from sickbay.arguments import bad_argument
from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of, run
from sickbay.printable import raising
from sickbay.surgery.standardising_inputs import check_statistics

Numbers: TypeAlias = float | Sequence[float] | Tensor


def scale_outputs(
    model: nn.Module, example: tuple[Any, ...], mean: Numbers, std: Numbers
) -> nn.Module:
    """Return a copy of the model that multiplies its outputs by `std` and adds `mean`.

    The layers then work with numbers around 0, and the predictions are in the units of the targets.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        mean: The mean of the targets: one number, or one for each output.
        std: Their standard deviation, in the same way; a 0 counts as 1.

    Raises:
        Declined: If the model's output is anything but one tensor of numbers that these fit.

    Example:
        >>> model = scale_outputs(nn.Identity(), (torch.ones(2, 1),), 100.0, 20.0)
        >>> model(torch.tensor([[-1.0], [0.0], [0.5]])).flatten().tolist()
        [80.0, 100.0, 110.0]
    """
    mean, std = as_numbers("mean", mean), as_numbers("std", std)
    check_statistics(mean, std)
    copied = copy_of(model)
    with raising(Declined, "The model cannot be run on the example"):
        output = run(copied, example, training=False)
    if not isinstance(output, Tensor) or not output.is_floating_point():
        got = f"one of {output.dtype}" if isinstance(output, Tensor) else type(output).__name__
        raise Declined(f"The model must output one tensor of real numbers, got {got}.")
    scaled = ScaledOutput(copied, mean.to(output), std.to(output)).train(model.training)
    return checked(scaled, model, example)


def as_numbers(name: str, values: Numbers) -> Tensor:
    """Return numbers as a tensor. Raise `UsageError` if they are none.

    >>> as_numbers("mean", [1.0, 2.0])
    tensor([1., 2.])
    """
    try:
        return torch.as_tensor(values, dtype=torch.get_default_dtype())
    except (TypeError, ValueError, RuntimeError):
        raise bad_argument(name, "a number, or one for each output", values) from None


class ScaledOutput(nn.Module):
    """A model whose output is multiplied by a deviation and moved by a mean."""

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("std", torch.where(std == 0, torch.ones_like(std), std.detach()))

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        output: Tensor = self.model(*args, **kwargs)
        return output * self.std.to(output) + self.mean.to(output)
