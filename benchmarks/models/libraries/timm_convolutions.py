"""Convolutional networks of timm, made as its documentation says: `timm.create_model(...)`."""

from __future__ import annotations

from typing import Any

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

library = Library("timm", "timm", "torchvision")


def made(name: str, side: int = 64, samples: int = 8, **settings: Any) -> Inputs:
    """Return a model of timm for ten classes, with a batch."""
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=10, **settings)
    return classifies(model, side, samples=samples)


@library.architecture
def resnet() -> Inputs:
    return made("resnet10t")


@library.architecture
def resnet_bottleneck() -> Inputs:
    return made("resnet26", layers=(1, 1, 1, 1), channels=(16, 24, 32, 48))


@library.architecture
def resnet_zero_init() -> Inputs:
    return made("resnet18", zero_init_last=True, channels=(16, 24, 32, 48))


@library.architecture
def test_resnet() -> Inputs:
    return made("test_resnet", 160)


@library.architecture
def seresnet() -> Inputs:
    return made("seresnext26t_32x4d", 32, layers=(1, 1, 1, 1))


@library.architecture
def res2net() -> Inputs:
    return made("res2net50_14w_8s", 32, samples=4, layers=(1, 1, 1, 1))


@library.architecture
def sknet() -> Inputs:
    return made("skresnet18", 32, layers=(1, 1, 1, 1))


@library.architecture
def resnetv2() -> Inputs:
    return made("resnetv2_50", layers=(1, 1, 1, 1), channels=(32, 64, 96, 128))


@library.architecture
def densenet() -> Inputs:
    return made("densenet121", block_config=(2, 2, 2, 2), growth_rate=12)


@library.architecture
def repvgg() -> Inputs:
    return made("repvgg_a0", 32, samples=4)


@library.architecture
def regnet() -> Inputs:
    return made("regnety_002", 32)


@library.architecture
def efficientnet() -> Inputs:
    return made("test_efficientnet", 96)


@library.architecture
def efficientnet_b0() -> Inputs:
    return made("efficientnet_b0", 32)


@library.architecture
def mobilenetv2() -> Inputs:
    return made("mobilenetv2_035")


@library.architecture
def mobilenetv3() -> Inputs:
    return made("mobilenetv3_small_050")


@library.architecture
def mobilenetv4() -> Inputs:
    return made("mobilenetv4_conv_small_035")


@library.architecture
def mobileone() -> Inputs:
    return made("mobileone_s0", 32, samples=4)


@library.architecture
def mobilevit() -> Inputs:
    return made("mobilevit_xxs", 128, samples=4)


@library.architecture
def mobilevitv2() -> Inputs:
    return made("mobilevitv2_050", 128, samples=4)


@library.architecture
def ghostnet() -> Inputs:
    return made("ghostnet_050")


@library.architecture
def lcnet() -> Inputs:
    return made("lcnet_035")


@library.architecture
def tinynet() -> Inputs:
    return made("tinynet_e", 106)


@library.architecture
def mnasnet() -> Inputs:
    return made("mnasnet_small")


@library.architecture
def hrnet() -> Inputs:
    return made("hrnet_w18_small", samples=4)


@library.architecture
def dla() -> Inputs:
    return made("dla46_c")


@library.architecture
def vovnet() -> Inputs:
    return made("ese_vovnet19b_slim_dw")


@library.architecture
def nfnet() -> Inputs:
    return made("test_nfnet", 96)


@library.architecture
def byobnet() -> Inputs:
    return made("test_byobnet", 160)


@library.architecture
def convnext() -> Inputs:
    return made("convnext_atto", depths=(1, 1, 1, 1), dims=(16, 24, 32, 48))


@library.architecture
def convnextv2() -> Inputs:
    return made("convnextv2_atto", depths=(1, 1, 1, 1), dims=(16, 24, 32, 48))


@library.architecture
def test_convnext() -> Inputs:
    return made("test_convnext", 160)


@library.architecture
def inceptionnext() -> Inputs:
    return made("inception_next_atto", depths=(1, 1, 1, 1), dims=(16, 24, 32, 48))


@library.architecture
def poolformer() -> Inputs:
    return made("poolformer_s12", 32, samples=4)


@library.architecture
def edgenext() -> Inputs:
    return made("edgenext_xx_small")


@library.architecture
def fastvit() -> Inputs:
    return made("fastvit_t8", 64, samples=4)


@library.architecture
def repvit() -> Inputs:
    return made("repvit_m0_9", 32)


@library.architecture
def starnet() -> Inputs:
    return made("starnet_s050")
