"""Networks of MONAI for medical volumes, with its own losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import volumes

library = Library("monai", "monai")
CLASSES, SIDE = 3, 32
LAYERS = (  # of a small HighResNet
    {"name": "conv_0", "n_features": 8, "kernel_size": 3},
    {"name": "res_1", "n_features": 8, "kernels": (3, 3), "repeat": 1},
    {"name": "res_2", "n_features": 16, "kernels": (3, 3), "repeat": 1},
    {"name": "conv_1", "n_features": 16, "kernel_size": 1},
    {"name": "conv_2", "kernel_size": 1},
)


def network(name: str, **settings: Any) -> nn.Module:
    from importlib import import_module

    made: nn.Module = getattr(import_module("monai.networks.nets"), name)(**settings)
    return made


def loss_of(name: str, **settings: Any) -> Callable[..., Tensor]:
    from importlib import import_module

    made: Callable[..., Tensor] = getattr(import_module("monai.losses"), name)(**settings)
    return made


def segments(model: nn.Module, loss: str = "DiceCELoss", side: int = SIDE) -> Inputs:
    """Return a network that labels voxels."""
    return Inputs(model, volumes(2, side, CLASSES), loss_of(loss, to_onehot_y=True, softmax=True))


def sorts(model: nn.Module, side: int = SIDE) -> Inputs:
    """Return a classifier of volumes."""
    labels = torch.arange(4) % 2
    scans = torch.randn(4, 1, side, side, side) + labels.view(-1, 1, 1, 1, 1)
    return Inputs(model, (scans, labels), nn.CrossEntropyLoss())


@library.architecture
def unet() -> Inputs:
    model = network(
        "UNet", spatial_dims=3, in_channels=1, out_channels=CLASSES, channels=(8, 16, 32),
        strides=(2, 2), num_res_units=2,
    )  # fmt: skip
    return segments(model)


@library.architecture
def attention_unet() -> Inputs:
    model = network(
        "AttentionUnet", spatial_dims=3, in_channels=1, out_channels=CLASSES, channels=(8, 16, 32),
        strides=(2, 2),
    )  # fmt: skip
    return segments(model, "DiceLoss")


@library.architecture
def basic_unet() -> Inputs:
    model = network(
        "BasicUNet", spatial_dims=3, in_channels=1, out_channels=CLASSES,
        features=(8, 8, 16, 16, 24, 8),
    )  # fmt: skip
    return segments(model, "DiceFocalLoss")


@library.architecture
def dyn_unet() -> Inputs:
    model = network(
        "DynUNet", spatial_dims=3, in_channels=1, out_channels=CLASSES, kernel_size=[3, 3, 3],
        strides=[1, 2, 2], upsample_kernel_size=[2, 2], filters=[8, 16, 24],
    )  # fmt: skip
    return segments(model)


@library.architecture
def segresnet() -> Inputs:
    model = network(
        "SegResNet", in_channels=1, out_channels=CLASSES, init_filters=8, blocks_down=(1, 1, 1),
        blocks_up=(1, 1),
    )  # fmt: skip
    return segments(model)


@library.architecture
def unetr() -> Inputs:
    model = network(
        "UNETR", in_channels=1, out_channels=CLASSES, img_size=(SIDE,) * 3, feature_size=4,
        hidden_size=24, mlp_dim=32, num_heads=2,
    )  # fmt: skip
    return segments(model)


@library.architecture
def highresnet() -> Inputs:
    model = network("HighResNet", in_channels=1, out_channels=CLASSES, layer_params=LAYERS)
    return segments(model, side=16)


@library.architecture
def densenet() -> Inputs:
    model = network(
        "DenseNet", spatial_dims=3, in_channels=1, out_channels=2, init_features=8,
        growth_rate=8, block_config=(2, 2),
    )  # fmt: skip
    return sorts(model)


@library.architecture
def senet() -> Inputs:
    model = network(
        "SENet", spatial_dims=3, in_channels=1, num_classes=2, block="se_bottleneck",
        layers=(1, 1, 1, 1), groups=1, reduction=4, inplanes=16, dropout_prob=None,
    )  # fmt: skip
    return sorts(model, 16)


@library.architecture
def resnet() -> Inputs:
    model = network(
        "ResNet", block="basic", layers=[1, 1, 1, 1], block_inplanes=[8, 16, 24, 32],
        n_input_channels=1, num_classes=2,
    )  # fmt: skip
    return sorts(model)


@library.architecture
def vit() -> Inputs:
    model = network(
        "ViT", in_channels=1, img_size=(16, 16, 16), patch_size=(8, 8, 8), hidden_size=24,
        mlp_dim=48, num_layers=2, num_heads=2, classification=True, num_classes=2,
    )  # fmt: skip
    given = sorts(model, 16)
    return Inputs(model, given.batch, lambda outputs, labels: F.cross_entropy(outputs[0], labels))


@library.architecture
def autoencoder() -> Inputs:
    model = network(
        "AutoEncoder", spatial_dims=2, in_channels=1, out_channels=1, channels=(8, 16),
        strides=(2, 2),
    )  # fmt: skip
    scans = torch.rand(8, 1, 32, 32)
    return Inputs(model, (scans, scans), nn.MSELoss())


@library.architecture
def variational_autoencoder() -> Inputs:
    model = network(
        "VarAutoEncoder", spatial_dims=2, in_shape=(1, 32, 32), out_channels=1, latent_size=4,
        channels=(8, 16), strides=(2, 2),
    )  # fmt: skip

    def loss(outputs: tuple[Tensor, ...], scans: Tensor) -> Tensor:
        reconstructed, mean, spread, _ = outputs
        divergence = -0.5 * (1 + spread - mean.square() - spread.exp()).mean()
        return F.mse_loss(reconstructed, scans) + 0.01 * divergence

    scans = torch.rand(8, 1, 32, 32)
    return Inputs(model, (scans, scans), loss)


@library.architecture
def regressor() -> Inputs:
    model = network(
        "Regressor", in_shape=(1, 32, 32), out_shape=(1,), channels=(8, 16), strides=(2, 2)
    )
    scans = torch.rand(8, 1, 32, 32)
    return Inputs(model, (scans, scans.mean((2, 3))), nn.MSELoss())


@library.architecture
def diffusion_unet() -> Inputs:
    model = network(
        "DiffusionModelUNet", spatial_dims=2, in_channels=1, out_channels=1, channels=(8, 16),
        attention_levels=(False, True), num_head_channels=8, num_res_blocks=1, norm_num_groups=4,
    )  # fmt: skip
    noise = torch.randn(8, 1, 16, 16)
    noisy = 0.7 * torch.rand(8, 1, 16, 16) + 0.7 * noise
    inputs = {"x": noisy, "timesteps": torch.randint(1000, (8,))}
    return Inputs(model, (inputs, noise), nn.MSELoss())
