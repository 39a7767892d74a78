"""Keeping some outputs positive, such as a variance beside a mean."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sickbay.arguments import check_int, check_iterable
from sickbay.errors import Declined, Needless
from sickbay.model_copies import checked, copy_of, run
from sickbay.printable import raising

LEAST = 1e-3


def keep_positive(model: nn.Module, example: tuple[Any, ...], columns: Sequence[int]) -> nn.Module:
    """Return a copy of the model with some columns of its output above 0.

    A column that has negative numbers goes through a softplus. One that has none, as behind a ReLU,
    is raised to 0.001 where it is less.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        columns: The numbers of the columns.

    Raises:
        Declined: If the output is no table, or has no such columns.

    Example:
        >>> model = keep_positive(nn.Identity(), (torch.tensor([[-1.0, 0.0], [2.0, 3.0]]),), [1])
        >>> model(torch.tensor([[-5.0, 0.0]])).tolist()
        [[-5.0, 0.0010000000474974513]]
    """
    given = check_iterable("columns", columns, "a list of column numbers")
    columns = [check_int("column", each, least=0) for each in given]
    if not columns:
        raise Needless("There is no column to keep positive.")
    copied = copy_of(model)
    with raising(Declined, "The model cannot be run on the example"):
        output = run(copied, example, training=False)
    if not isinstance(output, Tensor) or output.ndim != 2 or max(columns) >= output.shape[1]:
        raise Declined(f"The model must output a table of {max(columns) + 1} columns or more.")
    negative = (output < 0).any(0).cpu()
    chosen = torch.zeros(output.shape[1], dtype=torch.bool)
    chosen[columns] = True
    device = output.device
    made = PositiveColumns(copied, (chosen & negative).to(device), (chosen & ~negative).to(device))
    return checked(made.train(model.training), model, example)


class PositiveColumns(nn.Module):
    """A model of which some output columns go through a softplus, and others are raised."""

    soft: Tensor
    raised: Tensor

    def __init__(self, model: nn.Module, soft: Tensor, raised: Tensor) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("soft", soft)
        self.register_buffer("raised", raised)

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        output: Tensor = self.model(*args, **kwargs)
        output = torch.where(self.soft, functional.softplus(output), output)
        return torch.where(self.raised, output.clamp(min=LEAST), output)
