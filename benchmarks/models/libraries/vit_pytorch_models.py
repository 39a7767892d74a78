"""Vision transformers of vit-pytorch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

library = Library("vit-pytorch", "vit_pytorch", "torchvision")
SMALL = {
    "image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 4,
    "mlp_dim": 64,
}  # fmt: skip
SIMPLE = {**SMALL, "dim_head": 8}
DROPPED = {**SMALL, "dropout": 0.1, "emb_dropout": 0.1}


def made(module: str, name: str, **settings: Any) -> nn.Module:
    """Return a model of a module of the package."""
    model: nn.Module = getattr(import_module(f"vit_pytorch.{module}"), name)(**settings)
    return model


@library.architecture
def vit() -> Inputs:
    return classifies(made("vit", "ViT", **DROPPED))


@library.architecture
def simple_vit() -> Inputs:
    return classifies(made("simple_vit", "SimpleViT", **SIMPLE))


@library.architecture
def simple_vit_with_register_tokens() -> Inputs:
    return classifies(made("simple_vit_with_register_tokens", "SimpleViT", **SIMPLE))


@library.architecture
def simple_vit_with_patch_dropout() -> Inputs:
    return classifies(made("simple_vit_with_patch_dropout", "SimpleViT", **SIMPLE))


@library.architecture
def simple_vit_with_qk_norm() -> Inputs:
    return classifies(made("simple_vit_with_qk_norm", "SimpleViT", **SIMPLE))


@library.architecture
def simple_vit_with_value_residual() -> Inputs:
    return classifies(made("simple_vit_with_value_residual", "SimpleViT", **SIMPLE))


@library.architecture
def simple_vit_with_hyper_connections() -> Inputs:
    return classifies(
        made("simple_vit_with_hyper_connections", "SimpleViT", **SIMPLE, num_residual_streams=2)
    )


@library.architecture
def simple_vit_with_fft() -> Inputs:
    return classifies(made("simple_vit_with_fft", "SimpleViT", **SIMPLE, freq_patch_size=8))


@library.architecture
def vit_for_small_datasets() -> Inputs:
    return classifies(made("vit_for_small_dataset", "ViT", **DROPPED))


@library.architecture
def vit_with_patch_merger() -> Inputs:
    return classifies(
        made("vit_with_patch_merger", "ViT", **SMALL, patch_merge_layer=1, patch_merge_num_tokens=4)
    )


@library.architecture
def deepvit() -> Inputs:
    return classifies(made("deepvit", "DeepViT", **DROPPED))


@library.architecture
def cait() -> Inputs:
    return classifies(made("cait", "CaiT", **SMALL, cls_depth=1))


@library.architecture
def t2t() -> Inputs:
    settings = {name: SMALL[name] for name in SMALL if name != "patch_size"}
    return classifies(made("t2t", "T2TViT", **settings, t2t_layers=((7, 4), (3, 2))))


@library.architecture
def cct() -> Inputs:
    model = made(
        "cct", "CCT", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=7, stride=2,
        padding=3, pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2,
        num_heads=4, mlp_ratio=2.0, num_classes=10, positional_embedding="learnable",
    )  # fmt: skip
    return classifies(model)


@library.architecture
def cross_vit() -> Inputs:
    model = made(
        "cross_vit", "CrossViT", image_size=32, num_classes=10, depth=1, sm_dim=16,
        sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2, sm_enc_mlp_dim=32, lg_dim=24,
        lg_patch_size=16, lg_enc_depth=1, lg_enc_heads=2, lg_enc_mlp_dim=32, cross_attn_depth=1,
        cross_attn_heads=2,
    )  # fmt: skip
    return classifies(model)


@library.architecture
def pit() -> Inputs:
    model = made(
        "pit", "PiT", image_size=32, patch_size=8, dim=32, num_classes=10, depth=(1, 1), heads=4,
        mlp_dim=64,
    )  # fmt: skip
    return classifies(model)


@library.architecture
def levit() -> Inputs:
    model = made(
        "levit", "LeViT", image_size=64, num_classes=10, stages=2, dim=(32, 48), depth=1,
        heads=(2, 4), mlp_mult=2,
    )  # fmt: skip
    return classifies(model, 64)


@library.architecture
def cvt() -> Inputs:
    small = {f"s{i}_{name}": value for i in (1, 2, 3) for name, value in
             {"emb_dim": 8 * i, "depth": 1, "heads": i, "mlp_mult": 2}.items()}  # fmt: skip
    return classifies(made("cvt", "CvT", num_classes=10, **small))


@library.architecture
def twins() -> Inputs:
    small: dict[str, Any] = {}
    for stage, patch in enumerate((4, 2, 2, 1), start=1):
        sizes = {"emb_dim": 8 * stage, "patch_size": patch, "local_patch_size": 2}
        sizes |= {"global_k": 2, "depth": 1}
        small |= {f"s{stage}_{name}": size for name, size in sizes.items()}
    return classifies(made("twins_svt", "TwinsSVT", num_classes=10, **small), 64)


@library.architecture
def nest() -> Inputs:
    model = made(
        "nest", "NesT", image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2,
        block_repeats=(1, 1), num_classes=10,
    )  # fmt: skip
    return classifies(model)


@library.architecture
def mobile_vit() -> Inputs:
    model = made(
        "mobile_vit", "MobileViT", image_size=(64, 64), dims=[16, 20, 24],
        channels=[8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 64], num_classes=10, depths=(1, 1, 1),
    )  # fmt: skip
    return classifies(model, 64)


@library.architecture
def xcit() -> Inputs:
    return classifies(made("xcit", "XCiT", **SMALL, cls_depth=1, local_patch_kernel_size=3))


@library.architecture
def parallel_vit() -> Inputs:
    return classifies(made("parallel_vit", "ViT", **DROPPED, num_parallel_branches=2))


@library.architecture
def vit_1d() -> Inputs:
    model = made(
        "vit_1d", "ViT", seq_len=64, patch_size=8, num_classes=3, dim=32, depth=2, heads=4,
        mlp_dim=64, dropout=0.1,
    )  # fmt: skip
    series, labels = data.series(8, 64, 3)
    return Inputs(model, (series.transpose(1, 2), labels), nn.CrossEntropyLoss())


@library.architecture
def vit_3d() -> Inputs:
    settings = {"image_patch_size": 8, "frames": 4, "frame_patch_size": 2}
    rest = {name: SMALL[name] for name in SMALL if name not in ("patch_size", "num_classes")}
    model = made("vit_3d", "ViT", **rest, **settings, num_classes=4)
    batch = torch.randn(4, 3, 4, 32, 32), torch.arange(4)
    return Inputs(model, batch, nn.CrossEntropyLoss())


@library.architecture
def masked_autoencoder() -> Inputs:
    """It returns its loss."""
    encoder = made("vit", "ViT", **SMALL, pool="mean")
    model = made("mae", "MAE", encoder=encoder, masking_ratio=0.75, decoder_dim=32, decoder_depth=1)
    return Inputs(model, data.images(8, 3, 32)[0])
