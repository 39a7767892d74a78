"""Mean and standard deviation of targets."""

import torch
from torch import Tensor

DIGITS = 6  # as they are shown in code, so that the code does the same


def target_scale(targets: Tensor, *, columns: bool) -> tuple[Tensor, Tensor]:
    """Return mean and deviation of the finite targets, of each column if asked for.

    A column that does not vary has a deviation of 1.

    >>> target_scale(torch.tensor([[1.0, 5.0], [3.0, 5.0], [torch.nan, 5.0]]), columns=True)
    (tensor([2., 5.]), tensor([1., 1.]))
    """
    values = targets.detach().cpu().double()
    values = values.reshape(len(values), -1) if columns else values.reshape(-1, 1)
    known = [column[column.isfinite()] for column in values.T]
    means = [_rounded(column.mean()) if len(column) else 0.0 for column in known]
    deviations = [_rounded(column.std(correction=0)) if len(column) else 0.0 for column in known]
    mean, std = torch.tensor(means), torch.tensor([each or 1.0 for each in deviations])
    return (mean, std) if len(known) > 1 else (mean[0], std[0])


def is_far(targets: Tensor, factor: float) -> bool:
    """Return whether targets are far from a mean of 0 and a deviation of 1.

    >>> is_far(torch.tensor([100.0, 300.0]), 5.0), is_far(torch.tensor([-1.0, 1.0]), 5.0)
    (True, False)
    """
    mean, std = (float(each) for each in target_scale(targets, columns=False))
    return abs(mean) > factor or not 1 / factor <= std <= factor


def _rounded(number: Tensor) -> float:
    return float(f"{float(number):.{DIGITS}g}")
