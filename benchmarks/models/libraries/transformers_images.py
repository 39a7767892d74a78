"""Models of transformers for images."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import tokens
from benchmarks.models.small_transformers import LENGTH, SAMPLES, SMALL, SPECIAL, VOCABULARY, made

library = Library("transformers", "transformers")
IMAGE: dict[str, Any] = {
    "image_size": 32, "patch_size": 8, "num_channels": 3, "num_labels": 10, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip


def sees(model: str, side: int = 32, **settings: Any) -> Inputs:
    """Return a classifier of images."""
    images, labels = data.images(SAMPLES, 3, side, 10)
    return Inputs(made(model, **settings), {"pixel_values": images, "labels": labels})


@library.architecture
def vit() -> Inputs:
    return sees("ViTForImageClassification", **IMAGE)


@library.architecture
def deit() -> Inputs:
    return sees("DeiTForImageClassification", **IMAGE)


@library.architecture
def beit() -> Inputs:
    return sees(
        "BeitForImageClassification", **IMAGE, out_indices=[1, 2], use_relative_position_bias=True
    )


@library.architecture
def dinov2() -> Inputs:
    return sees("Dinov2ForImageClassification", **IMAGE)


@library.architecture
def swin() -> Inputs:
    return sees(
        "SwinForImageClassification",
        image_size=32,
        patch_size=2,
        embed_dim=16,
        depths=[1, 1],
        num_heads=[2, 2],
        window_size=4,
        num_labels=10,
    )


@library.architecture
def resnet() -> Inputs:
    return sees(
        "ResNetForImageClassification",
        embedding_size=16,
        hidden_sizes=[16, 24],
        depths=[1, 1],
        layer_type="basic",
        num_labels=10,
    )


@library.architecture
def convnext() -> Inputs:
    return sees(
        "ConvNextForImageClassification",
        hidden_sizes=[16, 24],
        depths=[1, 1],
        num_stages=2,
        num_labels=10,
    )


@library.architecture
def regnet() -> Inputs:
    return sees(
        "RegNetForImageClassification",
        embedding_size=16,
        hidden_sizes=[16, 24],
        depths=[1, 1],
        groups_width=8,
        num_labels=10,
    )


@library.architecture
def mobilevit() -> Inputs:
    return sees(
        "MobileViTForImageClassification",
        side=128,
        image_size=128,
        hidden_sizes=[16, 20, 24],
        neck_hidden_sizes=[8, 8, 16, 16, 16, 16, 32],
        num_attention_heads=2,
        num_labels=10,
    )


@library.architecture
def poolformer() -> Inputs:
    return sees(
        "PoolFormerForImageClassification",
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 24, 32],
        num_labels=10,
    )


@library.architecture
def segformer() -> Inputs:
    model = made(
        "SegformerForSemanticSegmentation",
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4],
        decoder_hidden_size=32,
        num_labels=4,
    )
    labels = torch.randint(4, (4, 1, 4, 4)).float()
    maps = torch.nn.functional.interpolate(labels, 64)[:, 0].long()
    images = maps[:, None] + 0.3 * torch.randn(4, 3, 64, 64)
    return Inputs(model, {"pixel_values": images, "labels": maps})


@library.architecture
def vit_mae() -> Inputs:
    model = made(
        "ViTMAEForPreTraining",
        **{**IMAGE, "image_size": 32},
        decoder_hidden_size=32,
        decoder_num_hidden_layers=1,
        decoder_num_attention_heads=4,
        decoder_intermediate_size=64,
    )
    return Inputs(model, {"pixel_values": data.images(SAMPLES, 3, 32)[0]})


@library.architecture
def clip() -> Inputs:
    text = {**SMALL, "max_position_embeddings": LENGTH, "projection_dim": 16, **SPECIAL}
    vision = {name: IMAGE[name] for name in IMAGE if name != "num_labels"}
    model = made(
        "CLIPModel",
        text_config=text,
        vision_config={**vision, "projection_dim": 16},
        projection_dim=16,
    )
    ids = tokens(SAMPLES, LENGTH, VOCABULARY)
    ids[:, -1] = 2
    batch = {"input_ids": ids, "pixel_values": data.images(SAMPLES, 3, 32)[0], "return_loss": True}
    return Inputs(model, {**batch, "attention_mask": torch.ones_like(ids)})
