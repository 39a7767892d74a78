"""TabNet of pytorch-tabnet, with the loss of its trainer."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("pytorch-tabnet", "pytorch_tabnet")
ROWS, NUMBERS, KINDS = 32, 6, (3, 5, 4)


def columns() -> tuple[Tensor, Tensor, Tensor]:
    """Return categories, numbers and a target that depends on both."""
    categories = torch.stack([torch.randint(each, (ROWS,)) for each in KINDS], 1)
    numbers = torch.randn(ROWS, NUMBERS)
    return categories, numbers, (numbers[:, :1] + categories[:, :1] - 1.0).tanh()


@library.architecture
def tabnet_with_categories() -> Inputs:
    from pytorch_tabnet.tab_network import TabNet

    width = NUMBERS + len(KINDS)
    model = TabNet(
        width, 1, n_steps=2, cat_idxs=[0, 1, 2], cat_dims=list(KINDS), cat_emb_dim=[2, 2, 2],
        group_attention_matrix=torch.eye(width), mask_type="entmax",
    )  # fmt: skip
    categories, numbers, target = columns()
    rows = torch.cat([categories.float(), numbers], 1)

    def loss(outputs: tuple[Tensor, Tensor], actual: Tensor) -> Tensor:
        return F.mse_loss(outputs[0], actual) - 1e-3 * outputs[1]

    return Inputs(model, (rows, target), loss)
