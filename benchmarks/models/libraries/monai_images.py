"""Networks of MONAI for slices and for regions that overlap, with its own losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import blobs, classifies

library = Library("monai", "monai")
CLASSES = 3


def nets() -> Any:
    """Return `monai.networks.nets`."""
    from monai.networks import nets

    return nets


def segments_slices(model: nn.Module, side: int = 32) -> Inputs:
    """Return a network for images of one channel, with Dice loss and cross entropy."""
    from monai.losses import DiceCELoss

    labels = blobs(4, side, CLASSES)[:, None]
    images = labels + 0.5 * torch.randn(labels.shape)
    return Inputs(model, (images, labels), DiceCELoss(to_onehot_y=True, softmax=True))


SPACE: dict[str, Any] = {"spatial_dims": 3, "in_channels": 1, "out_channels": CLASSES}
PLANE: dict[str, Any] = SPACE | {"spatial_dims": 2}


@library.architecture
def vnet() -> Inputs:
    from monai.losses import DiceLoss

    model = nets().VNet(**PLANE, dropout_prob_up=(0.3, 0.3))
    batch = segments_slices(model).batch
    return Inputs(model, batch, DiceLoss(to_onehot_y=True, softmax=True))


@library.architecture
def swin_unetr() -> Inputs:
    sizes = {"feature_size": 12, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 3, 4)}
    return segments_slices(nets().SwinUNETR(**PLANE, **sizes, patch_size=2, window_size=4), 64)


@library.architecture
def segresnet_of_binary_regions() -> Inputs:
    from monai.losses import DiceLoss

    model = nets().SegResNet(spatial_dims=2, init_filters=8, in_channels=4, out_channels=3)
    labels = blobs(4, 32, 2)[:, None].repeat(1, 3, 1, 1).float()
    labels[:, 1:, ::2] = 0
    images = torch.cat([labels, labels[:, :1]], 1) + 0.5 * torch.randn(4, 4, 32, 32)
    loss = DiceLoss(smooth_nr=0, smooth_dr=1e-5, squared_pred=True, to_onehot_y=False, sigmoid=True)
    return Inputs(model, (images, labels), loss)


@library.architecture
def efficientnet() -> Inputs:
    model = nets().EfficientNetBN(
        "efficientnet-b0", spatial_dims=2, in_channels=1, num_classes=6, pretrained=False
    )
    return classifies(model, 64, channels=1, classes=6)
