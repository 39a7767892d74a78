"""The tokens that embeddings look up: which of them is padding, and which are known."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sickbay.checkups.base import ModelSetup
from sickbay.checkups.batch import Batch


class Lookup(NamedTuple):
    """A call of an embedding."""

    layer: nn.Embedding
    tokens: Tensor


def lookups(setup: ModelSetup, batch: Batch) -> list[Lookup]:
    """Return the calls of embeddings in a pass, without those that get no tensor by position."""
    calls = setup.layer_calls(batch, nn.Embedding)
    return [
        Lookup(layer, args[0].detach())
        for layer, args in calls
        if args and isinstance(args[0], Tensor)
    ]


def padding_token(setup: ModelSetup, batch: Batch) -> int | None:
    """Return the token that an embedding of the input knows as padding, None if none does."""
    for layer, tokens in lookups(setup, batch):
        if layer.padding_idx is not None and tokens.shape == batch.main.shape:
            return layer.padding_idx
    return None


def vocabulary(setup: ModelSetup, batch: Batch) -> int | None:
    """Return the size of the first embedding that gets the input itself, None if there is none."""
    for layer, tokens in lookups(setup, batch):
        if tokens.shape == batch.main.shape and torch.equal(tokens, batch.main):
            return layer.num_embeddings
    return None


def longest(setup: ModelSetup, batch: Batch, length: int) -> int | None:
    """Return the length that embeddings of positions allow, None if there are none."""
    found = []
    for layer, tokens in lookups(setup, batch.first(1)):
        places = tokens.flatten()
        counted = torch.arange(len(places), device=places.device) + places[:1]
        if len(places) >= length and torch.equal(places, counted):
            found.append(layer.num_embeddings - (int(places[-1]) + 1 - length))
    return min(found, default=None)
