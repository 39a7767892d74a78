"""Forecasters of iTransformer, as in its README."""

from __future__ import annotations

from torch import nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("iTransformer", "iTransformer", "gateloop_transformer")


@library.architecture
def inverted_transformer() -> Inputs:
    from iTransformer import iTransformer

    model = iTransformer(
        num_variates=4, lookback_len=24, dim=32, depth=2, heads=4, dim_head=8, pred_length=6,
        use_reversible_instance_norm=True,
    )  # fmt: skip
    waves = data.series(12, 30, 4)[0]
    return Inputs(model, (waves[:, :24], waves[:, 24:]), nn.MSELoss())
