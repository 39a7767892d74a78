"""Small sound models with attention, with a batch each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

TOKENS, WIDTH, LENGTH, SAMPLES = 11, 16, 8, 6
torch.manual_seed(0)  # tables hold models and batches that are made on import


def tokens() -> tuple[Tensor, Tensor]:
    """Sequences, and what comes next in them."""
    text = torch.randint(TOKENS, (SAMPLES, LENGTH + 1))
    return text[:, :-1], text[:, 1:]


class Attention(nn.Module):
    """Multi-head attention as everybody writes it."""

    def __init__(self, causal: bool = True, dropout: float = 0.1, heads: int = 4) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(dropout)
        self.heads, self.causal = heads, causal
        self.mask: Tensor
        self.register_buffer("mask", torch.ones(32, 32).tril().bool())

    def split(self, x: Tensor) -> Any:
        n, length, _ = x.shape
        return [e.view(n, length, self.heads, -1).transpose(1, 2) for e in self.qkv(x).chunk(3, -1)]

    def join(self, x: Tensor) -> Any:
        return self.out(x.transpose(1, 2).reshape(len(x), -1, WIDTH))

    def masked(self, scores: Tensor) -> Tensor:
        length = scores.shape[-1]
        return (
            scores.masked_fill(~self.mask[:length, :length], -math.inf) if self.causal else scores
        )

    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        scores = self.masked(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]))
        return self.join(self.dropout(scores.softmax(-1)) @ v)


class FlashAttention(Attention):
    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        return self.join(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal))


class Block(nn.Module):
    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.one, self.two = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Any:
        x = x + self.attention(self.one(x))
        return x + self.mlp(self.two(x))


class GPT(nn.Module):
    """Its attention may be another, its positions too."""

    def __init__(self, attention: Callable[[], nn.Module] = Attention, context: int = 32) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(context, WIDTH)
        self.blocks = nn.Sequential(*(Block(attention()) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.tokens.weight

    def placed(self, x: Tensor) -> Any:
        return x + self.places(torch.arange(x.shape[1], device=x.device))

    def forward(self, x: Tensor) -> Any:
        return self.head(self.norm(self.blocks(self.placed(self.tokens(x)))))


class Flattened(GPT):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x).flatten(0, 1)


class Classifier(GPT):
    """Looks both ways and pools."""

    def __init__(self, attention: Callable[[], nn.Module] | None = None) -> None:
        super().__init__(attention or (lambda: Attention(causal=False)))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.norm(self.blocks(self.placed(self.tokens(x)))).mean(1))


class Bert(nn.Module):
    """As in transformers: arguments by name, a dict with logits and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH, padding_idx=0)
        self.places = nn.Parameter(torch.randn(1, LENGTH, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 3)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None
    ) -> Any:
        x = self.tokens(input_ids) + self.places
        padding = None if attention_mask is None else attention_mask == 0
        logits = self.head(self.encoder(x, src_key_padding_mask=padding)[:, 0])
        loss = {} if labels is None else {"loss": F.cross_entropy(logits, labels)}
        return {**loss, "logits": logits}


class ViT(nn.Module):
    def __init__(self, placed: bool = True) -> None:
        super().__init__()
        self.patches, self.placed = nn.Conv2d(3, WIDTH, 4, 4), placed
        self.places = nn.Parameter(torch.zeros(1, 5, WIDTH))
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.blocks = nn.Sequential(*(Block(Attention(causal=False)) for _ in range(2)))
        self.head = nn.Linear(WIDTH, 3)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: Tensor) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        return self.head(self.blocks(x + self.places if self.placed else x)[:, 0])


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, one: Tensor, other: Tensor) -> Any:
        return F.cosine_similarity(self.body(one), self.body(other))


class Clip(Siamese):
    def forward(self, one: Tensor, other: Tensor) -> Any:
        return F.normalize(self.body(one), dim=-1) @ F.normalize(self.body(other), dim=-1).T


class LinearAttention(Attention):
    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        total = q @ k.sum(2, keepdim=True).transpose(-2, -1)
        return self.join(q @ (k.transpose(-2, -1) @ v) / total)


class EinsumAttention(Attention):
    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        scores = self.masked(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1]))
        return self.join(torch.einsum("bhqk,bhkd->bhqd", F.softmax(scores, dim=-1), v))


class Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(32, WIDTH)
        self.body = nn.Transformer(WIDTH, 4, 1, 1, 32, batch_first=True)
        self.head = nn.Linear(WIDTH, TOKENS)

    def embedded(self, x: Tensor) -> Any:
        return self.tokens(x) + self.places(torch.arange(x.shape[1]))

    def forward(self, source: Tensor, target: Tensor) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.body(self.embedded(source), self.embedded(target), tgt_mask=mask))


def mlp(*between: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(12, 16), *between, nn.ReLU(), nn.Linear(16, 3))


def sentences() -> tuple[Tensor, Tensor]:
    return tokens()[0], torch.arange(SAMPLES) % 3


def named() -> dict[str, Tensor]:
    mask = torch.ones(SAMPLES, LENGTH, dtype=torch.long)
    mask[1, 5:] = 0
    return {"input_ids": tokens()[0], "attention_mask": mask, "labels": sentences()[1]}


def encoder(first: bool) -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=first)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
