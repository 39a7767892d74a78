"""Models of tables: numbers and categories in, a number or a class out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

revisiting = Library("rtdl_revisiting_models", "rtdl_revisiting_models")
tabm_package = Library("tabm", "tabm")
tab_transformers = Library("tab-transformer-pytorch", "tab_transformer_pytorch")
tabnet_package = Library("pytorch-tabnet", "pytorch_tabnet")
libraries = (revisiting, tabm_package, tab_transformers, tabnet_package)
CATEGORIES, NUMBERS = (4, 6), 5


def mixed(samples: int = 32) -> tuple[Tensor, Tensor, Tensor]:
    """Return numbers, categories, and a number that follows from both."""
    numbers = torch.randn(samples, NUMBERS)
    kinds = torch.stack([torch.randint(size, (samples,)) for size in CATEGORIES], 1)
    target = numbers[:, :2].sum(1) + kinds[:, 0] - 1.5
    return numbers, kinds, target[:, None] / 2


@revisiting.architecture
def mlp() -> Inputs:
    from rtdl_revisiting_models import MLP

    model = MLP(d_in=8, d_out=3, n_blocks=2, d_block=32, dropout=0.1)
    return Inputs(model, data.table(), nn.CrossEntropyLoss())


@revisiting.architecture
def resnet() -> Inputs:
    from rtdl_revisiting_models import ResNet

    model = ResNet(
        d_in=8, d_out=3, n_blocks=2, d_block=32, d_hidden_multiplier=2.0, dropout1=0.2,
        dropout2=0.0,
    )  # fmt: skip
    return Inputs(model, data.table(), nn.CrossEntropyLoss())


@revisiting.architecture
def ft_transformer() -> Inputs:
    from rtdl_revisiting_models import FTTransformer

    model = FTTransformer(
        n_cont_features=NUMBERS, cat_cardinalities=list(CATEGORIES), d_out=1, n_blocks=2,
        d_block=16, attention_n_heads=2, attention_dropout=0.1, ffn_d_hidden_multiplier=2.0,
        ffn_dropout=0.1, residual_dropout=0.0,
    )  # fmt: skip
    numbers, kinds, target = mixed()
    return Inputs(model, ((numbers, kinds), target), nn.MSELoss())


@tabm_package.architecture
def tabm() -> Inputs:
    """The loss is the mean of the losses of all members."""
    from tabm import TabM

    model = TabM.make(n_num_features=NUMBERS, cat_cardinalities=list(CATEGORIES), d_out=1, k=4)
    numbers, kinds, target = mixed()

    def loss(outputs: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(outputs.flatten(0, 1), target.repeat_interleave(outputs.shape[1], 0))

    return Inputs(model, ((numbers, kinds), target), loss)


@tab_transformers.architecture
def tab_transformer() -> Inputs:
    from tab_transformer_pytorch import TabTransformer

    model = TabTransformer(
        categories=CATEGORIES, num_continuous=NUMBERS, dim=16, depth=2, heads=2, dim_head=8,
        mlp_act=nn.ReLU(),
    )  # fmt: skip
    numbers, kinds, target = mixed()
    return Inputs(model, ((kinds, numbers), target), nn.MSELoss())


@tab_transformers.architecture
def ft_transformer_with_streams() -> Inputs:
    from tab_transformer_pytorch import FTTransformer

    model = FTTransformer(
        categories=CATEGORIES, num_continuous=NUMBERS, dim=16, depth=2, heads=2, dim_head=8
    )
    numbers, kinds, target = mixed()
    return Inputs(model, ((kinds, numbers), (target > 0).float()), nn.BCEWithLogitsLoss())


@tabnet_package.architecture
def tabnet() -> Inputs:
    """It also returns a loss of its masks, which its trainer subtracts."""
    from pytorch_tabnet.tab_network import TabNet

    groups = torch.eye(8)
    model = TabNet(8, 3, n_d=8, n_a=8, virtual_batch_size=16, group_attention_matrix=groups)

    def loss(outputs: tuple[Tensor, Tensor], labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs[0], labels) - 1e-3 * outputs[1]

    return Inputs(model, data.table(), loss)
