"""Models of torchvision: classifiers, segmentation, detection and video."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies, segments

library = Library("torchvision", "torchvision")


def models() -> Any:
    """Return the package with the models."""
    import torchvision

    return torchvision.models


def small_head(model: Any, features: int) -> Any:
    """Return a model with narrow layers in its classifier, whose usual ones hold most weights."""
    model.classifier = nn.Sequential(
        nn.Dropout(), nn.Linear(features * 36, 64), nn.ReLU(True), nn.Linear(64, 10)
    )
    return model


@library.architecture
def alexnet() -> Inputs:
    return classifies(small_head(models().AlexNet(num_classes=10), 256), 64)


@library.architecture
def vgg() -> Inputs:
    features = models().vgg.make_layers([16, "M", 24, "M", 32, "M"], batch_norm=False)
    model = models().VGG(features, num_classes=10)
    model.classifier = nn.Sequential(
        nn.Linear(32 * 49, 64), nn.ReLU(True), nn.Dropout(), nn.Linear(64, 10)
    )
    return classifies(model, 56)


@library.architecture
def vgg_with_batch_norm() -> Inputs:
    features = models().vgg.make_layers([16, "M", 24, "M", 32, "M"], batch_norm=True)
    model = models().VGG(features, num_classes=10, dropout=0.2)
    model.classifier = nn.Sequential(
        nn.Linear(32 * 49, 64), nn.ReLU(True), nn.Dropout(0.2), nn.Linear(64, 10)
    )
    return classifies(model, 56)


@library.architecture
def resnet18() -> Inputs:
    return classifies(models().resnet18(num_classes=10), 32, samples=16)


@library.architecture
def resnet_bottleneck() -> Inputs:
    kind = models().resnet.Bottleneck
    return classifies(models().ResNet(kind, [1, 1, 1, 1], num_classes=10), 32)


@library.architecture
def resnext() -> Inputs:
    kind = models().resnet.Bottleneck
    model = models().ResNet(kind, [1, 1, 1, 1], num_classes=10, groups=8, width_per_group=4)
    return classifies(model, 32)


@library.architecture
def wide_resnet() -> Inputs:
    kind = models().resnet.Bottleneck
    model = models().ResNet(
        kind, [1, 1, 1, 1], num_classes=10, width_per_group=16, zero_init_residual=True
    )
    return classifies(model, 32)


@library.architecture
def densenet() -> Inputs:
    model = models().DenseNet(
        growth_rate=8, block_config=(2, 2, 2), num_init_features=16, num_classes=10
    )
    return classifies(model, 32)


@library.architecture
def squeezenet() -> Inputs:
    return classifies(models().squeezenet1_1(num_classes=10), 64)


@library.architecture
def googlenet() -> Inputs:
    """Two more classifiers help in training; the loss counts them less."""

    def loss(outputs: Any, labels: torch.Tensor) -> torch.Tensor:
        if isinstance(outputs, torch.Tensor):
            return F.cross_entropy(outputs, labels)
        others = F.cross_entropy(outputs.aux_logits1, labels)
        others = others + F.cross_entropy(outputs.aux_logits2, labels)
        return F.cross_entropy(outputs.logits, labels) + 0.3 * others

    given = classifies(models().googlenet(num_classes=10, init_weights=False), 64)
    return Inputs(given.model, given.batch, loss)


@library.architecture
def mobilenet_v2() -> Inputs:
    return classifies(models().MobileNetV2(num_classes=10, width_mult=0.25), 64)


@library.architecture
def mobilenet_v3() -> Inputs:
    return classifies(models().mobilenet_v3_small(num_classes=10, width_mult=0.5), 64)


@library.architecture
def mnasnet() -> Inputs:
    return classifies(models().MNASNet(0.25, num_classes=10), 64)


@library.architecture
def shufflenet_v2() -> Inputs:
    return classifies(models().shufflenet_v2_x0_5(num_classes=10), 64)


@library.architecture
def efficientnet() -> Inputs:
    return classifies(models().efficientnet_b0(num_classes=10), 32)


@library.architecture
def regnet() -> Inputs:
    return classifies(models().regnet_y_400mf(num_classes=10), 32)


@library.architecture
def convnext() -> Inputs:
    block = models().convnext.CNBlockConfig
    setting = [block(16, 24, 1), block(24, 32, 1), block(32, None, 1)]
    return classifies(models().ConvNeXt(setting, num_classes=10), 64)


@library.architecture
def vision_transformer() -> Inputs:
    model = models().VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64,
        num_classes=10,
    )  # fmt: skip
    return classifies(model)


@library.architecture
def swin_transformer() -> Inputs:
    model = models().SwinTransformer(
        patch_size=[4, 4], embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=[4, 4],
        num_classes=10,
    )  # fmt: skip
    return classifies(model)


@library.architecture
def swin_transformer_v2() -> Inputs:
    kinds = models().swin_transformer
    model = models().SwinTransformer(
        patch_size=[4, 4], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4],
        num_classes=10, block=kinds.SwinTransformerBlockV2,
        downsample_layer=kinds.PatchMergingV2,
    )  # fmt: skip
    return classifies(model)


@library.architecture
def maxvit() -> Inputs:
    model = models().MaxVit(
        input_size=(64, 64), stem_channels=16, partition_size=4, block_channels=[16, 32],
        block_layers=[1, 1], head_dim=8, stochastic_depth_prob=0.1, num_classes=10,
    )  # fmt: skip
    return classifies(model, 64)


def main_and_auxiliary(outputs: dict[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """Return the loss of the reference scripts for segmentation."""
    losses = {name: F.cross_entropy(each, labels) for name, each in outputs.items()}
    return losses["out"] + 0.5 * losses["aux"] if "aux" in losses else losses["out"]


@library.architecture
def deeplabv3() -> Inputs:
    model = models().segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=4, aux_loss=True
    )
    given = segments(model, 32, samples=2)
    return Inputs(given.model, given.batch, main_and_auxiliary)


@library.architecture
def lraspp() -> Inputs:
    model = models().segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=4
    )
    given = segments(model, 64)
    return Inputs(given.model, given.batch, main_and_auxiliary)


def scenes(samples: int = 2, side: int = 64, first: int = 1) -> dict[str, Any]:
    """Return images with one bright box each, and the boxes, as the detectors take them."""
    images, targets = [], []
    for _ in range(samples):
        image, corner = 0.2 * torch.rand(3, side, side), torch.randint(side // 2, (2,))
        x, y = corner.tolist()
        image[:, y : y + side // 2, x : x + side // 2] += 0.7
        box = torch.tensor([[x, y, x + side // 2, y + side // 2]], dtype=torch.float32)
        images.append(image)
        targets.append({"boxes": box, "labels": torch.tensor([first])})
    return {"images": images, "targets": targets}


def backbone() -> nn.Module:
    """Return a small backbone for detectors."""
    layers: list[nn.Module] = []
    for before, after in ((3, 8), (8, 16), (16, 32)):
        layers += [nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
    made = nn.Sequential(*layers)
    made.out_channels = 32  # type: ignore[assignment]
    return made


def anchors() -> Any:
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    return AnchorGenerator(sizes=((16, 32),), aspect_ratios=((1.0,),))


SIZE = {"min_size": 64, "max_size": 64}


@library.architecture
def faster_rcnn() -> Inputs:
    detection = models().detection
    from torchvision.ops import MultiScaleRoIAlign

    model = detection.FasterRCNN(
        backbone(), num_classes=3, rpn_anchor_generator=anchors(),
        box_roi_pool=MultiScaleRoIAlign(["0"], 3, 2), rpn_pre_nms_top_n_train=50,
        rpn_post_nms_top_n_train=20, rpn_pre_nms_top_n_test=50, rpn_post_nms_top_n_test=20,
        box_batch_size_per_image=16, **SIZE,
    )  # fmt: skip
    return Inputs(model, scenes())


@library.architecture
def retinanet() -> Inputs:
    model = models().detection.RetinaNet(
        backbone(), num_classes=3, anchor_generator=anchors(), topk_candidates=20, **SIZE
    )
    return Inputs(model, scenes(), lambda losses, _: sum(losses.values()))


@library.architecture
def fcos() -> Inputs:
    from importlib import import_module

    detection = models().detection
    anchor_utils = import_module("torchvision.models.detection.anchor_utils")
    one = anchor_utils.AnchorGenerator(sizes=((8,),), aspect_ratios=((1.0,),))
    model = detection.FCOS(
        backbone(), num_classes=3, anchor_generator=one, topk_candidates=20, **SIZE
    )
    return Inputs(model, scenes())


@library.architecture
def video_resnet() -> Inputs:
    model = models().video.r3d_18(weights=None, num_classes=4)
    return Inputs(model, (torch.randn(4, 3, 4, 16, 16), torch.arange(4)), nn.CrossEntropyLoss())
