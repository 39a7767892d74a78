"""Vision transformers and MLP-Mixers of timm, and models between them and convolutions."""

from __future__ import annotations

from typing import Any

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies
from benchmarks.models.libraries.timm_convolutions import made

library = Library("timm", "timm", "torchvision")
VIT = {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 48, "num_heads": 3}


def mixes(block: str, **settings: Any) -> Inputs:
    """Return an MLP-Mixer of timm with other blocks."""
    from timm.models import mlp_mixer

    kind = getattr(mlp_mixer, block)
    sizes = {**settings, "img_size": 32, "patch_size": 8, "num_blocks": 2, "embed_dim": 48}
    return classifies(mlp_mixer.MlpMixer(num_classes=10, block_layer=kind, **sizes))


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
