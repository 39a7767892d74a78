"""Ensembles of small networks for tables, of tabm."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("tabm", "tabm", "rtdl_num_embeddings")


@library.architecture
def tabm_with_embeddings() -> Inputs:
    from rtdl_num_embeddings import LinearReLUEmbeddings
    from tabm import TabM

    model = TabM.make(
        n_num_features=8, d_out=1, k=4, n_blocks=2, d_block=32,
        num_embeddings=LinearReLUEmbeddings(8, 8),
    )  # fmt: skip

    def loss(outputs: Tensor, values: Tensor) -> Tensor:
        members = outputs.shape[1]
        return F.mse_loss(outputs.flatten(0, 1), values.repeat_interleave(members, 0))

    return Inputs(model, data.curve(), loss)
