"""Image classifiers of timm, made as its documentation says: `timm.create_model(name, ...)`."""

from __future__ import annotations

from typing import Any

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

library = Library("timm", "timm", "torchvision")
VIT = {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 48, "num_heads": 3}


def made(name: str, side: int = 64, samples: int = 8, **settings: Any) -> Inputs:
    """Return a model of timm for ten classes, with a batch."""
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=10, **settings)
    return classifies(model, side, samples=samples)


def mixes(block: str, **settings: Any) -> Inputs:
    """Return an MLP-Mixer of timm with other blocks."""
    from timm.models import mlp_mixer

    kind = getattr(mlp_mixer, block)
    sizes = {**settings, "img_size": 32, "patch_size": 8, "num_blocks": 2, "embed_dim": 48}
    return classifies(mlp_mixer.MlpMixer(num_classes=10, block_layer=kind, **sizes))


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


@library.architecture
def vit() -> Inputs:
    return made("vit_tiny_patch16_224", 32, **VIT)


@library.architecture
def vit_with_register_tokens() -> Inputs:
    return made("test_vit3", 160)


@library.architecture
def vit_average_pooled() -> Inputs:
    return made("vit_tiny_patch16_224", 32, **VIT, global_pool="avg", class_token=False)


@library.architecture
def deit_distilled() -> Inputs:
    return made("deit_tiny_distilled_patch16_224", 32, **VIT)


@library.architecture
def beit() -> Inputs:
    return made("beit_base_patch16_224", 32, **VIT)


@library.architecture
def eva() -> Inputs:
    return made("eva02_tiny_patch14_224", 32, **VIT)


@library.architecture
def cait() -> Inputs:
    return made("cait_xxs24_224", 32, **VIT)


@library.architecture
def xcit() -> Inputs:
    return made("xcit_nano_12_p16_224", 64, depth=2, img_size=64)


@library.architecture
def swin() -> Inputs:
    return made(
        "swin_tiny_patch4_window7_224", 64, img_size=64, window_size=4, embed_dim=24,
        depths=(2, 2), num_heads=(2, 4),
    )  # fmt: skip


@library.architecture
def swinv2() -> Inputs:
    return made(
        "swinv2_tiny_window8_256", 64, img_size=64, window_size=4, embed_dim=24,
        depths=(2, 2), num_heads=(2, 4),
    )  # fmt: skip


@library.architecture
def pvt() -> Inputs:
    return made("pvt_v2_b0")


@library.architecture
def mixer() -> Inputs:
    return mixes("MixerBlock")


@library.architecture
def resmlp() -> Inputs:
    return mixes("ResBlock", mlp_ratio=4)


@library.architecture
def gmlp() -> Inputs:
    from timm.layers import GatedMlp

    return mixes("SpatialGatingBlock", mlp_ratio=6, mlp_layer=GatedMlp)


@library.architecture
def davit() -> Inputs:
    return made("davit_tiny", 64, depths=(1, 1), embed_dims=(24, 48), num_heads=(2, 4))


@library.architecture
def tnt() -> Inputs:
    return made("tnt_s_legacy_patch16_224", 64, img_size=64, depth=2)


@library.architecture
def convit() -> Inputs:
    return made("convit_tiny", 64, img_size=64, depth=2, local_up_to_layer=1)


@library.architecture
def hiera() -> Inputs:
    return made("hiera_tiny_224", 64, img_size=64, embed_dim=24, stages=(1, 1, 2, 1))


@library.architecture
def tiny_vit() -> Inputs:
    return made("tiny_vit_5m_224", 64, depths=(1, 1, 1, 1))


@library.architecture
def sequencer() -> Inputs:
    return made("sequencer2d_s", 64, img_size=64, samples=4, layers=(1, 1, 1, 1))
