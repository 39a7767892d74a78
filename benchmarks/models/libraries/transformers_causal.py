"""Causal language models of transformers."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import tokens
from benchmarks.models.small_transformers import (
    GROUPED,
    LENGTH,
    SAMPLES,
    SMALL,
    SPECIAL,
    VOCABULARY,
    made,
)

library = Library("transformers", "transformers")


def writes(model: str, **settings: Any) -> Inputs:
    """Return a causal language model. It shifts the labels itself."""
    ids = tokens(SAMPLES, LENGTH, VOCABULARY)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
    return Inputs(made(model, **{**SPECIAL, **settings}), batch)


@library.architecture
def gpt2() -> Inputs:
    return writes(
        "GPT2LMHeadModel", vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=4
    )


@library.architecture
def gpt_neo() -> Inputs:
    return writes(
        "GPTNeoForCausalLM",
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=8,
    )


@library.architecture
def gpt_neox() -> Inputs:
    return writes("GPTNeoXForCausalLM", **SMALL)


@library.architecture
def gptj() -> Inputs:
    return writes(
        "GPTJForCausalLM",
        vocab_size=VOCABULARY,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
        rotary_dim=4,
    )


@library.architecture
def gpt_bigcode() -> Inputs:
    return writes(
        "GPTBigCodeForCausalLM",
        vocab_size=VOCABULARY,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
    )


@library.architecture
def codegen() -> Inputs:
    return writes(
        "CodeGenForCausalLM",
        vocab_size=VOCABULARY,
        n_positions=64,
        n_ctx=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
        rotary_dim=4,
    )


@library.architecture
def opt() -> Inputs:
    return writes(
        "OPTForCausalLM",
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        ffn_dim=64,
        num_attention_heads=4,
        max_position_embeddings=64,
        word_embed_proj_dim=32,
    )


@library.architecture
def bloom() -> Inputs:
    return writes("BloomForCausalLM", vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4)


@library.architecture
def falcon() -> Inputs:
    return writes(
        "FalconForCausalLM",
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
    )


@library.architecture
def mpt() -> Inputs:
    return writes(
        "MptForCausalLM", vocab_size=VOCABULARY, d_model=32, n_heads=4, n_layers=2, max_seq_len=64
    )


@library.architecture
def llama() -> Inputs:
    return writes("LlamaForCausalLM", **GROUPED)


@library.architecture
def mistral() -> Inputs:
    return writes("MistralForCausalLM", **GROUPED, sliding_window=8)


@library.architecture
def mixtral() -> Inputs:
    return writes("MixtralForCausalLM", **GROUPED, num_local_experts=4, output_router_logits=True)


@library.architecture
def qwen2() -> Inputs:
    return writes("Qwen2ForCausalLM", **GROUPED)


@library.architecture
def qwen3() -> Inputs:
    return writes("Qwen3ForCausalLM", **GROUPED, head_dim=8)


@library.architecture
def gemma() -> Inputs:
    return writes("GemmaForCausalLM", **GROUPED, head_dim=8)


@library.architecture
def gemma2() -> Inputs:
    return writes(
        "Gemma2ForCausalLM", **GROUPED, head_dim=8, sliding_window=8, query_pre_attn_scalar=8
    )


@library.architecture
def phi() -> Inputs:
    return writes("PhiForCausalLM", **SMALL)


@library.architecture
def phi3() -> Inputs:
    return writes("Phi3ForCausalLM", **GROUPED)


@library.architecture
def stablelm() -> Inputs:
    return writes("StableLmForCausalLM", **GROUPED)


@library.architecture
def olmo() -> Inputs:
    return writes("OlmoForCausalLM", **GROUPED)


@library.architecture
def granite() -> Inputs:
    return writes("GraniteForCausalLM", **GROUPED)


@library.architecture
def cohere() -> Inputs:
    return writes("CohereForCausalLM", **GROUPED)


@library.architecture
def starcoder2() -> Inputs:
    return writes("Starcoder2ForCausalLM", **GROUPED)


@library.architecture
def mamba() -> Inputs:
    return writes(
        "MambaForCausalLM",
        vocab_size=VOCABULARY,
        hidden_size=32,
        state_size=8,
        num_hidden_layers=2,
        time_step_rank=4,
    )


@library.architecture
def rwkv() -> Inputs:
    return writes(
        "RwkvForCausalLM",
        vocab_size=VOCABULARY,
        hidden_size=32,
        attention_hidden_size=32,
        num_hidden_layers=2,
        context_length=64,
    )


@library.architecture
def bert_decoder() -> Inputs:
    return writes("BertLMHeadModel", **SMALL, is_decoder=True)


@library.architecture
def xglm() -> Inputs:
    return writes(
        "XGLMForCausalLM",
        vocab_size=VOCABULARY,
        d_model=32,
        ffn_dim=64,
        num_layers=2,
        attention_heads=4,
        max_position_embeddings=64,
    )


@library.architecture
def recurrent_gemma() -> Inputs:
    return writes(
        "RecurrentGemmaForCausalLM",
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=1,
        intermediate_size=64,
        lru_width=32,
        attention_window_size=8,
    )
