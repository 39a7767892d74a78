"""More transformers of x-transformers, as its README makes them, but smaller."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import flat_cross_entropy, padding_mask, tokens

library = Library("x-transformers", "x_transformers")
VOCABULARY, LENGTH = 100, 16
SIZES: dict[str, Any] = {"dim": 32, "depth": 2, "heads": 4, "attn_dim_head": 8}


def language_model(**settings: Any) -> Any:
    """Return a decoder that predicts the next token."""
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(**SIZES, **settings)
    return TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=LENGTH, attn_layers=layers)


def predicts_the_next(model: nn.Module) -> Inputs:
    text = tokens(8, LENGTH + 1, VOCABULARY)
    return Inputs(model, (text[:, :-1], text[:, 1:]), flat_cross_entropy)


@library.architecture
def decoder_in_a_recent_style() -> Inputs:
    settings: dict[str, Any] = {
        "use_rmsnorm": True,
        "ff_swish": True,
        "ff_glu": True,
        "attn_qk_norm": True,
    }
    settings |= {
        "rotary_pos_emb": True,
        "rotary_emb_dim": 8,
        "attn_kv_heads": 2,
        "ff_no_bias": True,
    }
    return predicts_the_next(language_model(**settings))


@library.architecture
def decoder_with_shifted_tokens() -> Inputs:
    return predicts_the_next(language_model(shift_tokens=1, residual_attn=True))


@library.architecture
def encoder_with_mask() -> Inputs:
    from x_transformers import Encoder, TransformerWrapper

    model = TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=LENGTH, attn_layers=Encoder(**SIZES), logits_dim=2,
        use_cls_token=True,
    )  # fmt: skip
    text, mask = tokens(8, LENGTH, VOCABULARY), padding_mask(8, LENGTH).bool()
    labels = torch.arange(8) % 2
    text[:, 0] = 5 + labels
    return Inputs(model, ({"x": text * mask, "mask": mask}, labels), nn.CrossEntropyLoss())


@library.architecture
def memory_tokens() -> Inputs:
    from x_transformers import Encoder, TransformerWrapper

    layers = Encoder(**SIZES, attn_num_mem_kv=4)
    model = TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=LENGTH, attn_layers=layers, num_memory_tokens=4
    )
    text = tokens(8, LENGTH, VOCABULARY)
    hidden = torch.rand(text.shape) < 0.3
    targets = text.masked_fill(~hidden, -100)
    return Inputs(model, (text.masked_fill(hidden, 1), targets), flat_cross_entropy)


@library.architecture
def numbers_among_tokens() -> Inputs:
    from x_transformers import Decoder
    from x_transformers.xval import XValTransformerWrapper

    model = XValTransformerWrapper(
        num_tokens=VOCABULARY, numerical_token_id=3, max_seq_len=LENGTH,
        attn_layers=Decoder(**SIZES),
    )  # fmt: skip

    def loss(outputs: Any, targets: tuple[Tensor, Tensor]) -> Tensor:
        logits, numbers = outputs
        following, values = targets
        known = following == 3
        return flat_cross_entropy(logits, following) + F.mse_loss(numbers[known], values[known])

    text = tokens(8, LENGTH + 1, VOCABULARY)
    text[:, ::4] = 3
    values = torch.where(text == 3, torch.randn(text.shape), 1.0)
    inputs = {"x": text[:, :-1], "x_num": values[:, :-1]}
    return Inputs(model, (inputs, (text[:, 1:], values[:, 1:])), loss)
