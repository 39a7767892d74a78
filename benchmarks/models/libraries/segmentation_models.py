"""Architectures of segmentation-models-pytorch, with its own losses."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import segments

library = Library("segmentation-models-pytorch", "segmentation_models_pytorch", "torchvision")
ENCODER = {"encoder_name": "timm-mobilenetv3_small_minimal_100", "encoder_weights": None}


def made(name: str, loss: str = "", side: int = 64, **settings: Any) -> Inputs:
    """Return an architecture for four classes; with a loss for one class, for one class."""
    import segmentation_models_pytorch as smp

    losses = {
        "dice": lambda: smp.losses.DiceLoss("multiclass"),
        "focal": lambda: smp.losses.FocalLoss("multiclass"),
        "jaccard": lambda: smp.losses.JaccardLoss("multiclass"),
        "binary dice": lambda: smp.losses.DiceLoss("binary"),
        "binary": lambda: torch.nn.BCEWithLogitsLoss(),
        "lovasz": lambda: smp.losses.LovaszLoss("multiclass"),
    }
    binary = loss.startswith("binary")
    settings = {**ENCODER, **settings}
    model = getattr(smp, name)(in_channels=3, classes=1 if binary else 4, **settings)
    given = segments(model, side)
    if not loss:
        return given
    images, labels = given.batch
    targets = (labels[:, None] > 1).float() if binary else labels
    return Inputs(model, (images, targets), losses[loss]())


@library.architecture
def unet() -> Inputs:
    return made("Unet", decoder_channels=(32, 24, 16, 8, 8))


@library.architecture
def unet_binary() -> Inputs:
    return made("Unet", "binary dice", decoder_channels=(32, 24, 16, 8, 8))


@library.architecture
def unet_with_attention() -> Inputs:
    return made(
        "Unet", "dice", decoder_channels=(64, 48, 32, 32, 16), decoder_attention_type="scse"
    )


@library.architecture
def unet_plus_plus() -> Inputs:
    return made("UnetPlusPlus", decoder_channels=(32, 24, 16, 8, 8))


@library.architecture
def linknet() -> Inputs:
    return made("Linknet", "jaccard")


@library.architecture
def fpn() -> Inputs:
    return made("FPN", "focal", decoder_pyramid_channels=32, decoder_segmentation_channels=32)


@library.architecture
def pspnet() -> Inputs:
    return made("PSPNet", psp_out_channels=32)


@library.architecture
def pan() -> Inputs:
    return made("PAN", "binary", decoder_channels=16, side=128)


@library.architecture
def manet() -> Inputs:
    return made("MAnet", "dice", decoder_channels=(32, 24, 16, 8, 8), decoder_pab_channels=16)


@library.architecture
def deeplabv3() -> Inputs:
    return made("DeepLabV3", decoder_channels=16)


@library.architecture
def deeplabv3_plus() -> Inputs:
    return made("DeepLabV3Plus", "lovasz", decoder_channels=16)


@library.architecture
def upernet() -> Inputs:
    return made("UPerNet", decoder_channels=16)


@library.architecture
def segformer() -> Inputs:
    return made("Segformer", decoder_segmentation_channels=16)
