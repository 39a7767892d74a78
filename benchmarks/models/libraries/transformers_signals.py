"""Models of transformers for sounds and series."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.small_transformers import CLASSES, SAMPLES, made

library = Library("transformers", "transformers")
SOUND = 1600  # readings
SPEECH: dict[str, Any] = {
    "vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "conv_dim": (16, 16), "conv_stride": (5, 4), "conv_kernel": (10, 8),
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    "pad_token_id": 0, "mask_time_prob": 0.0,
}  # fmt: skip


def hears(model: str, **settings: Any) -> Inputs:
    """Return a classifier of sounds."""
    labels = torch.arange(SAMPLES) % CLASSES
    times = torch.arange(SOUND) / 100
    sounds = torch.sin(times * (1 + labels[:, None])) + 0.1 * torch.randn(SAMPLES, SOUND)
    batch = {"input_values": sounds, "labels": labels}
    return Inputs(made(model, **settings, num_labels=CLASSES), batch)


@library.architecture
def wav2vec2() -> Inputs:
    return hears("Wav2Vec2ForSequenceClassification", **SPEECH)


@library.architecture
def hubert() -> Inputs:
    return hears("HubertForSequenceClassification", **SPEECH)


@library.architecture
def wavlm() -> Inputs:
    return hears("WavLMForSequenceClassification", **SPEECH)


@library.architecture
def wav2vec2_ctc() -> Inputs:
    model = made("Wav2Vec2ForCTC", **SPEECH, ctc_loss_reduction="mean")
    sounds, labels = torch.randn(SAMPLES, SOUND), torch.randint(1, 30, (SAMPLES, 6))
    return Inputs(model, {"input_values": sounds, "labels": labels})


@library.architecture
def audio_spectrogram() -> Inputs:
    model = made(
        "ASTForAudioClassification",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        patch_size=8,
        frequency_stride=8,
        time_stride=8,
        max_length=32,
        num_mel_bins=16,
        num_labels=CLASSES,
    )
    return Inputs(
        model,
        {"input_values": torch.randn(SAMPLES, 32, 16), "labels": torch.arange(SAMPLES) % CLASSES},
    )


@library.architecture
def patchtst() -> Inputs:
    model = made(
        "PatchTSTForPrediction",
        num_input_channels=2,
        context_length=32,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=32,
        prediction_length=8,
    )
    return Inputs(model, series_to_predict())


@library.architecture
def patchtsmixer() -> Inputs:
    model = made(
        "PatchTSMixerForPrediction",
        num_input_channels=2,
        context_length=32,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_layers=2,
        prediction_length=8,
    )
    return Inputs(model, series_to_predict())


def series_to_predict() -> dict[str, torch.Tensor]:
    """Return waves, and how they go on."""
    waves = data.series(SAMPLES, 40, 2)[0]
    return {"past_values": waves[:, :32], "future_values": waves[:, 32:]}
