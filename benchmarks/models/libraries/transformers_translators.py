"""Encoders and decoders of transformers."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import padding_mask, tokens
from benchmarks.models.small_transformers import LENGTH, SAMPLES, SPECIAL, VOCABULARY, made

library = Library("transformers", "transformers")
PAIR: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_position_embeddings": 64,
}  # fmt: skip


def translates(model: str, **settings: Any) -> Inputs:
    """Return an encoder and decoder, with labels of another length."""
    ids, keep = tokens(SAMPLES, LENGTH, VOCABULARY), padding_mask(SAMPLES, LENGTH)
    labels = tokens(SAMPLES, 10, VOCABULARY)
    batch = {"input_ids": ids * keep + (1 - keep) * settings.get("pad_token_id", 0)}
    batch |= {"attention_mask": keep, "labels": labels}
    start = {"decoder_start_token_id": 0}
    return Inputs(made(model, **{**SPECIAL, **start, **settings}), batch)


@library.architecture
def t5() -> Inputs:
    return translates(
        "T5ForConditionalGeneration",
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
    )


@library.architecture
def mt5() -> Inputs:
    return translates(
        "MT5ForConditionalGeneration",
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
    )


@library.architecture
def bart() -> Inputs:
    return translates("BartForConditionalGeneration", **PAIR)


@library.architecture
def marian() -> Inputs:
    return translates("MarianMTModel", **PAIR)


@library.architecture
def pegasus() -> Inputs:
    return translates("PegasusForConditionalGeneration", **PAIR)


@library.architecture
def m2m_100() -> Inputs:
    return translates("M2M100ForConditionalGeneration", **PAIR)


@library.architecture
def prophetnet() -> Inputs:
    return translates(
        "ProphetNetForConditionalGeneration",
        vocab_size=VOCABULARY,
        hidden_size=32,
        encoder_ffn_dim=64,
        num_encoder_layers=2,
        num_decoder_layers=2,
        num_encoder_attention_heads=4,
        num_decoder_attention_heads=4,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
    )


@library.architecture
def whisper() -> Inputs:
    model = made(
        "WhisperForConditionalGeneration",
        **{**PAIR, **SPECIAL},
        num_mel_bins=8,
        max_source_positions=32,
        max_target_positions=32,
        decoder_start_token_id=1,
    )
    features, labels = torch.randn(SAMPLES, 8, 64), tokens(SAMPLES, 10, VOCABULARY)
    return Inputs(model, {"input_features": features, "labels": labels})
