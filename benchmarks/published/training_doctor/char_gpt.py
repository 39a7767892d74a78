"""The model of the paper: a GPT over characters, as in nanoGPT, without biases."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

BYTES = 256


class Block(nn.Module):
    """Attention and feed-forward, both behind a layer norm and followed by dropout."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.share = heads, dropout
        self.norm1 = nn.LayerNorm(width, bias=False)
        self.norm2 = nn.LayerNorm(width, bias=False)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.gelu, self.drop = nn.GELU(), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        share = self.share if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=share, is_causal=True)
        x = x + self.drop(self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        fed: Tensor = self.drop(self.down(self.gelu(self.up(self.norm2(x)))))
        return x + fed


class CharGPT(nn.Module):
    """A causal transformer over bytes; 10.7 million parameters at the paper's size."""

    def __init__(self, length: int, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.length = length
        self.tokens, self.places = nn.Embedding(BYTES, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, BYTES, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of every position."""
        order = torch.arange(tokens.shape[1], device=tokens.device)
        logits: Tensor = self.head(
            self.norm(self.blocks(self.drop(self.tokens(tokens) + self.places(order))))
        )
        return logits

    @torch.no_grad()
    def write(self, count: int) -> Tensor:
        """Return `count` characters, each drawn after the ones before, as nanoGPT samples."""
        text = torch.zeros(1, 1, dtype=torch.long, device=self.head.weight.device)
        for _ in range(count):
            chances = F.softmax(self(text[:, -self.length :])[:, -1].float(), dim=-1)
            text = torch.cat([text, torch.multinomial(chances, 1)], dim=1)
        return text
