"""A model whose units are all there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, as layers and as settings of layers, until the end.

    >>> layer = nn.LSTM(2, 2, num_layers=2, dropout=0.5)
    >>> with without_dropout(layer):
    ...     layer.dropout
    0.0
    >>> layer.dropout
    0.5
    """
    layers = [each for each in model.modules() if "Drop" in type(each).__name__ and each.training]
    held = [each for each in model.modules() if isinstance(vars(each).get("dropout"), float)]
    settings = [(each, each.dropout) for each in held]
    for layer in layers:
        layer.eval()
    for each in held:
        each.dropout = 0.0  # type: ignore[assignment]
    try:
        yield
    finally:
        for layer in layers:
            layer.train()
        for each, share in settings:
            each.dropout = share
