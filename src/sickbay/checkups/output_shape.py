"""The shape of what a model puts out, and whether it follows its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch
from sickbay.checkups.first_pass import main_output

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

Shape = tuple[int, ...]


def output_shape(case: Case, model: nn.Module, batch: Batch) -> Shape:
    """Return the shape of what a model puts out; () if that is one number."""
    with torch.no_grad():
        raw = case.run(model, batch)
    return () if isinstance(raw, Tensor) and not raw.ndim else tuple(main_output(raw).shape)


def odd_shape(
    case: Case,
    model: nn.Module,
    batch: Batch,
    usual: Shape,
    sizes: tuple[int, int],
    *,
    must: bool = False,
) -> str:
    """Say what is wrong with the output where a size goes from one to another; "" if nothing."""
    try:
        shape = output_shape(case, model, batch)
    except Exception as error:
        said = str(error).strip().splitlines() or [""]
        return f"raises {type(error).__name__}: {said[-1]}"
    old, new = sizes
    pairs = list(zip(usual, shape, strict=False))
    moved = [b * old == a * new for a, b in pairs]
    fits = len(usual) == len(shape) and all(
        a == b or move for (a, b), move in zip(pairs, moved, strict=True)
    )
    if fits and (not must or any(moved)):
        return ""
    return f"gives an output of shape {shape}, where {old} give {usual}"
