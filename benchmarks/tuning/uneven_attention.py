"""Transformer layers whose number of heads need not divide their width, as in the paper's space.

Each head is `width // heads` wide, so the heads together may be a little narrower than the layer.
"""

from __future__ import annotations

from torch import Tensor, nn

from benchmarks.tuning.search_spaces import Config


class Attention(nn.Module):
    """Attention of any number of heads."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, self.heads = config["model_width"], config["heads"]
        inner = width // self.heads * self.heads
        self.query, self.key, self.value = (nn.Linear(width, inner) for _ in range(3))
        self.out = nn.Linear(inner, width)
        self.dropout = config["dropout"]

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        parts = [self.query(x), self.key(memory), self.value(memory)]
        query, key, value = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in parts)
        drop = self.dropout if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=drop)
        outputs: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return outputs


class EncoderLayer(nn.Module):
    """Attention to itself, then two linear layers, as in `nn.TransformerEncoderLayer`."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, inner = config["model_width"], config["inner_width"]
        self.attention = Attention(config)
        self.wide, self.narrow = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.drop = nn.Dropout(config["dropout"])

    def forward(self, x: Tensor) -> Tensor:
        return self.last_part(self.norms[0](x + self.drop(self.attention(x, x))))

    def last_part(self, x: Tensor) -> Tensor:
        """Return what the two linear layers make of it."""
        made = self.narrow(self.drop(nn.functional.gelu(self.wide(x))))
        outputs: Tensor = self.norms[1](x + self.drop(made))
        return outputs


class DecoderLayer(nn.Module):
    """An encoder layer with attention to the memory before its linear layers."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.crossing, self.layer = Attention(config), EncoderLayer(config)
        self.norm, self.drop = nn.LayerNorm(config["model_width"]), nn.Dropout(config["dropout"])

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        layer = self.layer
        x = layer.norms[0](x + self.drop(layer.attention(x, x)))
        return layer.last_part(self.norm(x + self.drop(self.crossing(x, memory))))
