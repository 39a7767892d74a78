"""Performers of performer-pytorch, as in its README."""

from __future__ import annotations

from torch import nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import flat_cross_entropy, tokens

library = Library("performer-pytorch", "performer_pytorch", "local_attention")


@library.architecture
def language_model() -> Inputs:
    from performer_pytorch import PerformerLM

    text = tokens(8, 17, 100)
    model = PerformerLM(
        num_tokens=100, max_seq_len=16, dim=32, depth=2, heads=4, dim_head=8, causal=True,
        nb_features=16, feature_redraw_interval=1000, ff_dropout=0.1,
    )  # fmt: skip
    return Inputs(model, (text[:, :-1], text[:, 1:]), flat_cross_entropy)


@library.architecture
def masked_language_model() -> Inputs:
    from performer_pytorch import PerformerLM

    text = tokens(8, 16, 100)
    model = PerformerLM(
        num_tokens=100, max_seq_len=16, dim=32, depth=2, heads=4, dim_head=8, causal=False,
        generalized_attention=True,
    )  # fmt: skip
    hidden = text % 4 == 0
    batch = (text.masked_fill(hidden, 1), text.masked_fill(~hidden, -100))
    return Inputs(model, batch, flat_cross_entropy)


@library.architecture
def encoder_of_series() -> Inputs:
    from performer_pytorch import Performer

    model = nn.Sequential(
        nn.Linear(4, 32), Performer(dim=32, depth=1, heads=4, dim_head=8), nn.Linear(32, 4)
    )
    waves = data.series(8, 17, 4)[0]
    return Inputs(model, (waves[:, 1:], waves[:, 1:].flip(1)), nn.MSELoss())
