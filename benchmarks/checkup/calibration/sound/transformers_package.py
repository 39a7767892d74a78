"""Small models with random weights from the package `transformers`, if it is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
INSTALLED = find_spec("transformers") is not None
TOKENS, LENGTH = 50, 12
SMALL = {
    "vocab_size": TOKENS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64,
}  # fmt: skip
GPT = {"vocab_size": TOKENS, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 4}
DISTIL = {"vocab_size": TOKENS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
T5 = {
    "vocab_size": TOKENS, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
    "decoder_start_token_id": 0,
}  # fmt: skip
IMAGE = {"image_size": 16, "patch_size": 4, "num_labels": 3, "num_channels": 3}


def made(config: str, model: str, **settings: Any) -> Any:
    """Return a model of a configuration class."""
    hub = import_module("transformers")
    settings = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **settings}
    return getattr(hub, model)(getattr(hub, config)(**settings))


def sentences(samples: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens and their padding mask."""
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (samples,))
    mask = (torch.arange(LENGTH) < lengths[:, None]).long()
    return torch.randint(3, TOKENS, (samples, LENGTH)) * mask, mask


def written(model: Any) -> Inputs:
    """Return a language model with whole sentences. It shifts the labels itself."""
    tokens = torch.randint(3, TOKENS, (16, LENGTH))
    batch = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens}
    return Inputs(model, batch, optimizer=torch.optim.AdamW(model.parameters(), lr=5e-5))


def guessed(model: Any) -> Inputs:
    """Return a model that predicts masked words."""
    tokens = torch.randint(3, TOKENS, (16, LENGTH))
    asked = torch.rand(tokens.shape) < 0.3
    asked[:, 0] = True
    labels = tokens.masked_fill(~asked, -100)
    mask = torch.ones_like(tokens)
    words = tokens.masked_fill(asked, 2)
    return Inputs(model, {"input_ids": words, "attention_mask": mask, "labels": labels})


def classifier(model: Any) -> Inputs:
    """Return a classifier with padded sentences."""
    tokens, mask = sentences()
    batch = {"input_ids": tokens, "attention_mask": mask, "labels": torch.arange(16) % 3}
    return Inputs(model, batch)


def translated(model: Any) -> Inputs:
    tokens, mask = sentences()
    labels = torch.randint(3, TOKENS, (16, 9))
    return Inputs(model, {"input_ids": tokens, "attention_mask": mask, "labels": labels})


def seen(model: Any) -> Inputs:
    return Inputs(
        model, {"pixel_values": torch.randn(16, 3, 16, 16), "labels": torch.arange(16) % 3}
    )


def register() -> None:
    text = "ForSequenceClassification"
    keep = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
    for name, make in {
        "GPT-2": lambda: written(made("GPT2Config", "GPT2LMHeadModel", **GPT)),
        "BERT": lambda: classifier(made("BertConfig", "Bert" + text, num_labels=3, **SMALL)),
        "Llama": lambda: written(made("LlamaConfig", "LlamaForCausalLM", **SMALL)),
        "DistilBERT": lambda: classifier(
            made("DistilBertConfig", "DistilBert" + text, num_labels=3, **DISTIL)
        ),
        "T5": lambda: translated(made("T5Config", "T5ForConditionalGeneration", **T5)),
        "ViT": lambda: seen(made("ViTConfig", "ViTForImageClassification", **SMALL, **IMAGE)),
        "RoBERTa": lambda: classifier(
            made("RobertaConfig", "Roberta" + text, num_labels=3, **SMALL)
        ),
        "GPT-2 without dropout": lambda: written(
            made("GPT2Config", "GPT2LMHeadModel", **GPT, **keep)
        ),
        "Mistral": lambda: written(
            made("MistralConfig", "MistralForCausalLM", num_key_value_heads=2, **SMALL)
        ),
        "BERT, masked words": lambda: guessed(made("BertConfig", "BertForMaskedLM", **SMALL)),
        "Qwen": lambda: written(
            made("Qwen2Config", "Qwen2ForCausalLM", num_key_value_heads=2, **SMALL)
        ),
        "ELECTRA": lambda: classifier(
            made("ElectraConfig", "Electra" + text, num_labels=3, embedding_size=32, **SMALL)
        ),
    }.items():
        cases.sound(f"transformers, {name}")(make)


if INSTALLED:
    register()
