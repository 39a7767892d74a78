"""Recurrent networks of minGRU-pytorch, as in its README."""

from __future__ import annotations

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import flat_cross_entropy, tokens

library = Library("minGRU-pytorch", "minGRU_pytorch")


@library.architecture
def minimal_lstm() -> Inputs:
    from minGRU_pytorch.minLM import minLM

    text = tokens(8, 17, 100)
    model = minLM(num_tokens=100, dim=32, depth=2, use_lstm=True)
    return Inputs(model, (text[:, :-1], text[:, 1:]), flat_cross_entropy)
