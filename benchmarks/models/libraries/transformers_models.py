"""Models of transformers, with small configurations and the batches of its documentation."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import padding_mask, tokens

library = Library("transformers", "transformers")
VOCABULARY, LENGTH, SAMPLES, CLASSES = 100, 16, 8, 3
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64,
}  # fmt: skip
GROUPED: dict[str, Any] = {**SMALL, "num_key_value_heads": 2}
IMAGE: dict[str, Any] = {
    "image_size": 32, "patch_size": 8, "num_channels": 3, "num_labels": 10, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
SPEECH: dict[str, Any] = {
    "vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "conv_dim": (16, 16), "conv_stride": (5, 4), "conv_kernel": (10, 8),
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    "pad_token_id": 0, "mask_time_prob": 0.0,
}  # fmt: skip
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def made(model: str, config: str = "", **settings: Any) -> Any:
    """Return a model of a class, with random weights. The config is named like the model."""
    import transformers

    kind: Any = getattr(transformers, model)
    configured = getattr(transformers, f"{config}Config") if config else kind.config_class
    return kind(configured(**settings))


def writes(model: str, **settings: Any) -> Inputs:
    """Return a causal language model. It shifts the labels itself."""
    ids = tokens(SAMPLES, LENGTH, VOCABULARY)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
    return Inputs(made(model, **{**SPECIAL, **settings}), batch)


def guesses(model: str, **settings: Any) -> Inputs:
    """Return a model that predicts masked tokens."""
    ids = tokens(SAMPLES, LENGTH, VOCABULARY)
    hidden = torch.rand(ids.shape) < 0.3
    hidden[:, 0] = True
    labels = ids.masked_fill(~hidden, -100)
    words = ids.masked_fill(hidden, 4)
    batch = {"input_ids": words, "attention_mask": torch.ones_like(ids), "labels": labels}
    return Inputs(made(model, **{**SPECIAL, **settings}), batch)


def sorts(model: str, *, mask: bool = True, **settings: Any) -> Inputs:
    """Return a classifier of padded sentences."""
    ids, keep = tokens(SAMPLES, LENGTH, VOCABULARY), padding_mask(SAMPLES, LENGTH)
    labels = torch.arange(SAMPLES) % CLASSES
    batch = {"input_ids": ids * keep if mask else ids, "labels": labels}
    batch |= {"attention_mask": keep} if mask else {}
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


def translates(model: str, **settings: Any) -> Inputs:
    """Return an encoder and decoder, with labels of another length."""
    ids, keep = tokens(SAMPLES, LENGTH, VOCABULARY), padding_mask(SAMPLES, LENGTH)
    labels = tokens(SAMPLES, 10, VOCABULARY)
    batch = {"input_ids": ids * keep + (1 - keep) * settings.get("pad_token_id", 0)}
    batch |= {"attention_mask": keep, "labels": labels}
    start = {"decoder_start_token_id": 0}
    return Inputs(made(model, **{**SPECIAL, **start, **settings}), batch)


def sees(model: str, side: int = 32, **settings: Any) -> Inputs:
    """Return a classifier of images."""
    images, labels = data.images(SAMPLES, 3, side, 10)
    return Inputs(made(model, **settings), {"pixel_values": images, "labels": labels})


def hears(model: str, length: int = 1600, **settings: Any) -> Inputs:
    """Return a classifier of sounds."""
    labels = torch.arange(SAMPLES) % CLASSES
    times = torch.arange(length) / 100
    sounds = torch.sin(times * (1 + labels[:, None])) + 0.1 * torch.randn(SAMPLES, length)
    batch = {"input_values": sounds, "labels": labels}
    return Inputs(made(model, **settings, num_labels=CLASSES), batch)


# Causal language models


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


# Masked language models


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


# Sentences


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


# Encoders and decoders


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


PAIR: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_position_embeddings": 64,
}  # fmt: skip


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


# Images


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


# Sound and series


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
    sounds, labels = torch.randn(SAMPLES, 1600), torch.randint(1, 30, (SAMPLES, 6))
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
