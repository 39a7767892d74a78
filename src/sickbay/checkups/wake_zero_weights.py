"""Weights that start at zero, given a value: else they hide what comes before them."""

import torch
from torch import nn

SIZE = 0.05


def awake(model: nn.Module) -> None:
    """Change every parameter that is all zero, in place.

    >>> model = nn.Linear(2, 2)
    >>> _ = nn.init.zeros_(model.bias)
    >>> awake(model)
    >>> bool(model.bias.any())
    True
    """
    with torch.no_grad():
        for each in model.parameters():
            if each.is_floating_point() and not each.any():
                each.normal_(0, SIZE)
