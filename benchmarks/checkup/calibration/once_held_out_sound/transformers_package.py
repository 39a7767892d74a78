"""More small models with random weights from the package `transformers`."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup.calibration.sound.transformers_package import (
    IMAGE,
    INSTALLED,
    SMALL,
    TOKENS,
    classifier,
    guessed,
    made,
    seen,
    translated,
    written,
)
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
OPT = {
    "vocab_size": TOKENS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "ffn_dim": 64, "word_embed_proj_dim": 32, "max_position_embeddings": 32,
}  # fmt: skip
BLOOM = {"vocab_size": TOKENS, "hidden_size": 32, "n_layer": 2, "n_head": 4}
BART = {
    "vocab_size": TOKENS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_position_embeddings": 32, "decoder_start_token_id": 2,
}  # fmt: skip
CONVNEXT = {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "patch_size": 2}
RESNET = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
SEGFORMER = {
    "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
    "patch_sizes": [3, 3], "strides": [2, 2], "num_attention_heads": [2, 4], "mlp_ratios": [2, 2],
    "decoder_hidden_size": 32,
}  # fmt: skip


def coloured(model: Any) -> Inputs:
    """Return a model that classifies each pixel."""
    images = torch.randn(8, 3, 16, 16)
    return Inputs(model, {"pixel_values": images, "labels": images.argmax(1)})


def register() -> None:
    text = "ForSequenceClassification"
    shared = {"num_key_value_heads": 2}
    few = {"num_labels": 3}
    for name, make in {
        "ALBERT": lambda: classifier(
            made("AlbertConfig", "Albert" + text, embedding_size=16, **few, **SMALL)
        ),
        "OPT": lambda: written(made("OPTConfig", "OPTForCausalLM", **OPT)),
        "BLOOM": lambda: written(made("BloomConfig", "BloomForCausalLM", **BLOOM)),
        "GPT-NeoX": lambda: written(made("GPTNeoXConfig", "GPTNeoXForCausalLM", **SMALL)),
        "Phi": lambda: written(made("PhiConfig", "PhiForCausalLM", **SMALL)),
        "Gemma": lambda: written(
            made("GemmaConfig", "GemmaForCausalLM", head_dim=8, **shared, **SMALL)
        ),
        "Falcon": lambda: written(
            made("FalconConfig", "FalconForCausalLM", ffn_hidden_size=64, **SMALL)
        ),
        "BART": lambda: translated(made("BartConfig", "BartForConditionalGeneration", **BART)),
        "RoBERTa, masked words": lambda: guessed(
            made("RobertaConfig", "RobertaForMaskedLM", **SMALL)
        ),
        "DeiT": lambda: seen(made("DeiTConfig", "DeiTForImageClassification", **SMALL, **IMAGE)),
        "ConvNeXt": lambda: seen(
            made("ConvNextConfig", "ConvNextForImageClassification", **CONVNEXT, **few)
        ),
        "ResNet": lambda: seen(
            made("ResNetConfig", "ResNetForImageClassification", **RESNET, **few)
        ),
        "SegFormer": lambda: coloured(
            made("SegformerConfig", "SegformerForSemanticSegmentation", **SEGFORMER, **few)
        ),
    }.items():
        cases.sound(f"transformers, {name}")(make)


if INSTALLED:
    register()
