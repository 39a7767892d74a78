"""Models of transformers that predict masked tokens."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import tokens
from benchmarks.models.small_transformers import LENGTH, SAMPLES, SMALL, SPECIAL, VOCABULARY, made

library = Library("transformers", "transformers")


def guesses(model: str, **settings: Any) -> Inputs:
    """Return a model that predicts masked tokens."""
    ids = tokens(SAMPLES, LENGTH, VOCABULARY)
    hidden = torch.rand(ids.shape) < 0.3
    hidden[:, 0] = True
    labels = ids.masked_fill(~hidden, -100)
    words = ids.masked_fill(hidden, 4)
    batch = {"input_ids": words, "attention_mask": torch.ones_like(ids), "labels": labels}
    return Inputs(made(model, **{**SPECIAL, **settings}), batch)


@library.architecture
def bert_masked() -> Inputs:
    return guesses("BertForMaskedLM", **SMALL)


@library.architecture
def roberta_masked() -> Inputs:
    return guesses("RobertaForMaskedLM", **SMALL)


@library.architecture
def deberta_masked() -> Inputs:
    return guesses(
        "DebertaV2ForMaskedLM",
        **SMALL,
        relative_attention=True,
        position_buckets=8,
        pos_att_type=["p2c", "c2p"],
    )


@library.architecture
def albert_masked() -> Inputs:
    return guesses("AlbertForMaskedLM", **SMALL, embedding_size=16)


@library.architecture
def modernbert_masked() -> Inputs:
    return guesses(
        "ModernBertForMaskedLM", **SMALL, local_attention=8, cls_token_id=1, sep_token_id=2
    )


@library.architecture
def esm_masked() -> Inputs:
    return guesses("EsmForMaskedLM", **SMALL, mask_token_id=4, position_embedding_type="rotary")


@library.architecture
def electra_masked() -> Inputs:
    return guesses("ElectraForMaskedLM", **SMALL, embedding_size=16)


@library.architecture
def convbert_masked() -> Inputs:
    return guesses("ConvBertForMaskedLM", **SMALL, embedding_size=32, head_ratio=2)


@library.architecture
def fnet_masked() -> Inputs:
    given = guesses(
        "FNetForMaskedLM",
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    del given.batch["attention_mask"]
    return given
