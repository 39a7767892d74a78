"""Quick references for autoencoders, with a code as wide as theirs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sickbay.errors import Declined
from sickbay.model_copies import copy_of
from sickbay.repairs.yardsticks.answers import Inputs
from sickbay.repairs.yardsticks.simple_models import WIDTH, train
from sickbay.surgery.record_forward import record_forward

MOST = 64  # components
EXACT = 400  # values of a sample, or samples, of which all components are computed
PENALTY = 1e-6  # on the weights that lead back, by the number of samples
TRIED = 7  # samples, of which there is hardly a layer with as many units


def code_width(model: nn.Module, inputs: Inputs) -> int | None:
    """Return the fewest numbers that a sample passes through, None if that is not seen.

    >>> coder = nn.Sequential(nn.Linear(8, 3), nn.ReLU(), nn.Linear(3, 8))
    >>> code_width(coder, (torch.rand(20, 8),))
    3
    """
    few = tuple(each[:TRIED] for each in inputs)
    count = len(few[0])
    try:
        operations = record_forward(copy_of(model), few).operations
    except Declined:
        return None
    shapes = [each.output.shape for each in operations if each.learned and each.output is not None]
    widths = [torch.Size(shape[1:]).numel() for shape in shapes if shape[:1] == (count,)]
    return min(widths, default=None)


def components(x: Tensor, y: Tensor, count: int) -> Callable[[Tensor], Tensor]:
    """Return a function that answers with what so many components of `x` tell of `y`.

    >>> x = torch.randn(50, 1) @ torch.ones(1, 4)
    >>> bool(torch.allclose(components(x, x, 1)(x), x, atol=1e-3))
    True
    """
    centre, mean = x.mean(0), y.mean(0)
    count = max(1, min(count, MOST, len(x) // 2, x.shape[1]))
    if min(x.shape) <= EXACT:
        axes = torch.linalg.svd(x - centre, full_matrices=False).Vh[:count].T
    else:
        axes = torch.pca_lowrank(x - centre, q=count, center=False)[2]
    codes = (x - centre) @ axes
    penalty = PENALTY * codes.square().sum() + 1e-12
    square = codes.T @ codes + penalty * torch.eye(codes.shape[1])
    back = torch.linalg.solve(square, codes.T @ (y - mean))

    def answer(rows: Tensor) -> Tensor:
        found: Tensor = (rows - centre) @ axes @ back + mean
        return found

    return answer


def coder(x: Tensor, y: Tensor, count: int) -> Callable[[Tensor], Tensor]:
    """Train a small autoencoder with such a code, and return what it answers with."""
    centre, mean = x.mean(0), y.mean(0)
    scale, spread = (each.std(correction=0).clamp(min=1e-6) for each in (x - centre, y - mean))
    code = max(1, min(count, MOST))
    model = nn.Sequential(
        nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, code),
        nn.Linear(code, WIDTH), nn.ReLU(), nn.Linear(WIDTH, y.shape[1]),
    )  # fmt: skip
    train(model, (x - centre) / scale, (y - mean) / spread, nn.MSELoss())

    def answer(rows: Tensor) -> Tensor:
        found: Tensor = model((rows - centre) / scale) * spread + mean
        return found

    return answer
