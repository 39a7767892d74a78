"""Classifiers of transformers for sentences and tokens, and models that find answers."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import padding_mask, tokens
from benchmarks.models.small_transformers import (
    CLASSES,
    GROUPED,
    LENGTH,
    SAMPLES,
    SMALL,
    SPECIAL,
    VOCABULARY,
    made,
)

library = Library("transformers", "transformers")


def sorts(model: str, **settings: Any) -> Inputs:
    """Return a classifier of padded sentences."""
    ids, keep = tokens(SAMPLES, LENGTH, VOCABULARY), padding_mask(SAMPLES, LENGTH)
    labels = torch.arange(SAMPLES) % CLASSES
    batch = {"input_ids": ids * keep, "labels": labels, "attention_mask": keep}
    return Inputs(made(model, num_labels=CLASSES, **{**SPECIAL, **settings}), batch)


def tags(model: str, **settings: Any) -> Inputs:
    """Return a classifier of each token; padding has no label."""
    ids, keep = tokens(SAMPLES, LENGTH, VOCABULARY), padding_mask(SAMPLES, LENGTH)
    labels = (ids % CLASSES).masked_fill(keep == 0, -100)
    batch = {"input_ids": ids * keep, "attention_mask": keep, "labels": labels}
    return Inputs(made(model, num_labels=CLASSES, **{**SPECIAL, **settings}), batch)


def answers(model: str, **settings: Any) -> Inputs:
    """Return a model that finds where an answer starts and ends."""
    ids = tokens(SAMPLES, LENGTH, VOCABULARY)
    start = torch.randint(LENGTH // 2, (SAMPLES,))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    batch |= {"start_positions": start, "end_positions": start + 3}
    return Inputs(made(model, **{**SPECIAL, **settings}), batch)


@library.architecture
def bert() -> Inputs:
    return sorts("BertForSequenceClassification", **SMALL)


@library.architecture
def roberta() -> Inputs:
    return sorts("RobertaForSequenceClassification", **SMALL)


@library.architecture
def distilbert() -> Inputs:
    return sorts(
        "DistilBertForSequenceClassification",
        vocab_size=VOCABULARY,
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=64,
        max_position_embeddings=64,
    )


@library.architecture
def albert() -> Inputs:
    return sorts("AlbertForSequenceClassification", **SMALL, embedding_size=16)


@library.architecture
def xlnet() -> Inputs:
    return sorts(
        "XLNetForSequenceClassification",
        vocab_size=VOCABULARY,
        d_model=32,
        n_layer=2,
        n_head=4,
        d_inner=64,
    )


@library.architecture
def funnel() -> Inputs:
    return sorts(
        "FunnelForSequenceClassification",
        vocab_size=VOCABULARY,
        block_sizes=[1, 1],
        d_model=32,
        n_head=4,
        d_head=8,
        d_inner=64,
    )


@library.architecture
def mpnet() -> Inputs:
    return sorts("MPNetForSequenceClassification", **SMALL)


@library.architecture
def longformer() -> Inputs:
    return sorts("LongformerForSequenceClassification", **SMALL, attention_window=8)


@library.architecture
def big_bird() -> Inputs:
    return sorts("BigBirdForSequenceClassification", **SMALL, attention_type="original_full")


@library.architecture
def nystromformer() -> Inputs:
    return sorts(
        "NystromformerForSequenceClassification",
        **SMALL,
        segment_means_seq_len=16,
        num_landmarks=16,
    )


@library.architecture
def squeezebert() -> Inputs:
    return sorts("SqueezeBertForSequenceClassification", **SMALL, embedding_size=32)


@library.architecture
def mobilebert() -> Inputs:
    return sorts(
        "MobileBertForSequenceClassification",
        **SMALL,
        embedding_size=32,
        intra_bottleneck_size=32,
        true_hidden_size=32,
    )


@library.architecture
def canine() -> Inputs:
    return sorts(
        "CanineForSequenceClassification",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        downsampling_rate=2,
        local_transformer_stride=8,
        num_hash_buckets=100,
    )


@library.architecture
def gpt2_sentences() -> Inputs:
    return sorts(
        "GPT2ForSequenceClassification",
        vocab_size=VOCABULARY,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
    )


@library.architecture
def llama_sentences() -> Inputs:
    return sorts("LlamaForSequenceClassification", **GROUPED)


@library.architecture
def t5_sentences() -> Inputs:
    given = sorts(
        "T5ForSequenceClassification",
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        eos_token_id=2,
    )
    given.batch["input_ids"][:, -1] = 2
    given.batch["attention_mask"][:] = 1
    return given


@library.architecture
def bert_tags() -> Inputs:
    return tags("BertForTokenClassification", **SMALL)


@library.architecture
def layoutlm_tags() -> Inputs:
    given = tags("LayoutLMForTokenClassification", **SMALL, max_2d_position_embeddings=100)
    corner = torch.randint(50, (SAMPLES, LENGTH, 2))
    given.batch["bbox"] = torch.cat([corner, corner + 10], -1)
    return given


@library.architecture
def bert_answers() -> Inputs:
    return answers("BertForQuestionAnswering", **SMALL)


@library.architecture
def distilbert_answers() -> Inputs:
    return answers(
        "DistilBertForQuestionAnswering",
        vocab_size=VOCABULARY,
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=64,
        max_position_embeddings=64,
    )
