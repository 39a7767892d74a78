"""Descriptions and building blocks of the models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.detection.data_sets import Data

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky": nn.LeakyReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "prelu": nn.PReLU,
    "hardswish": nn.Hardswish,
    "hardtanh": nn.Hardtanh,
    "mish": nn.Mish,
    "none": nn.Identity,
    "softmax": lambda: nn.Softmax(-1),
    "log_softmax": lambda: nn.LogSoftmax(-1),
    "clamp": lambda: nn.Hardtanh(0.0, 1.0),
    "relu6": nn.ReLU6,
}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": F.relu,
    "relu6": F.relu6,
    "softplus": F.softplus,
    "clamp": lambda x: x.clamp(0, 1),
}


@dataclass(frozen=True, kw_only=True)
class Net:
    """A description of a model.

    Attributes:
        kind: `fc`, `cnn`, `res`, `rnn`, `lstm`, `gru`, `transformer`, `bag` or `auto` (encoder).
        init: `torch` (its default), `right` (fits the activation), `normal` (of deviation `gain`).
        gain: Multiplies the initial weights of hidden layers.
        bias: The initial biases of hidden layers.
        output: The activation after the last layer.
        function: Whether the output activation is a function rather than a module.
    """

    kind: str = "fc"
    depth: int = 3
    width: int = 32
    activation: str = "relu"
    norm: str = ""
    dropout: float = 0.0
    init: str = "torch"
    gain: float = 1.0
    bias: float | None = None
    output: str = "none"
    function: bool = False
    inline: bool = False  # whether hidden activations are functions rather than modules
    post_norm: bool = False
    tied: bool = False
    spare: bool = False  # whether the model has a head that is never called
    first_norm: bool = False  # whether the model starts with a batch norm
    scale: float = 1.0  # divides the inputs inside the model


class Divide(nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x / self.by


class Spare(nn.Module):
    """A model with a head that is never called."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body, self.spare = body, nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        done: Tensor = self.body(x)
        return done


class Inline(nn.Module):
    """A layer whose activation is a function, not a module."""

    def __init__(self, layer: nn.Module, activation: str) -> None:
        super().__init__()
        self.layer, self.activation = layer, FUNCTIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.layer(x))


class Functional(nn.Module):
    """A model whose output activation is a function, not a module."""

    def __init__(self, body: nn.Module, output: str) -> None:
        super().__init__()
        self.body, self.output = body, FUNCTIONS[output]

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.body(x))


class Residual(nn.Module):
    """Adds its input to the output of a branch."""

    def __init__(self, *branch: nn.Module) -> None:
        super().__init__()
        self.branch = nn.Sequential(*branch)

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = x + self.branch(x)
        return added


class Rows(nn.Module):
    """Returns a series unchanged and an image as a series of rows."""

    def forward(self, x: Tensor) -> Tensor:
        return sequence(x)


class Recurrent(nn.Module):
    """A recurrent network with a head on its last state, or on all states for next tokens."""

    def __init__(self, net: Net, data: Data, outputs: int) -> None:
        super().__init__()
        self.every = data.task == "next"
        inputs = net.width
        if data.form == "tokens":
            self.read: nn.Module = nn.Embedding(data.vocabulary, net.width, padding_idx=0)
        else:
            self.read, inputs = Rows(), sequence(data.x[:1]).shape[-1]
        make = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[net.kind]
        # An LSTM or GRU does not accept the name of an activation.
        extra = {"nonlinearity": net.activation} if net.kind == "rnn" else {}
        self.core = make(inputs, net.width, net.depth, batch_first=True, **extra)
        self.norm = nn.LayerNorm(net.width) if net.norm else nn.Identity()
        self.drop = nn.Dropout(net.dropout)
        self.head = nn.Linear(net.width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.core(self.read(x))
        logits: Tensor = self.head(self.drop(self.norm(states if self.every else states[:, -1])))
        return logits.flatten(0, 1) if self.every else logits


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        done: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return done


class Block(nn.Module):
    """Attention and feed-forward, with a layer norm before or after each."""

    def __init__(self, net: Net, causal: bool) -> None:
        super().__init__()
        self.post, width = net.post_norm, net.width
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.drop = Attention(width, 2, causal), nn.Dropout(net.dropout)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width),
            ACTIVATIONS[net.activation](),
            nn.Linear(2 * width, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.post:
            x = self.norm1(x + self.drop(self.attention(x)))
            done: Tensor = self.norm2(x + self.drop(self.feed(x)))
            return done
        x = x + self.drop(self.attention(self.norm1(x)))
        added: Tensor = x + self.drop(self.feed(self.norm2(x)))
        return added


class Transformer(nn.Module):
    def __init__(self, net: Net, data: Data, outputs: int) -> None:
        super().__init__()
        self.every = data.task == "next"
        if data.form == "tokens":
            self.embedding: nn.Module = nn.Embedding(data.vocabulary, net.width)
            length = data.x.shape[1]
        else:
            length, features = sequence(data.x[:1]).shape[1:]
            self.embedding = nn.Linear(features, net.width)
        self.tokens = data.form == "tokens"
        self.places = nn.Parameter(torch.randn(length, net.width) * 0.02)
        self.blocks = nn.ModuleList(Block(net, self.every) for _ in range(net.depth))
        self.norm = nn.LayerNorm(net.width)
        self.head = nn.Linear(net.width, outputs, bias=not net.tied)
        if net.tied:
            nn.init.normal_(self.head.weight, std=net.width**-0.5)
            self.embedding.weight = self.head.weight

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding(x if self.tokens else sequence(x)) + self.places
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits: Tensor = self.head(x if self.every else x.mean(1))
        return logits.flatten(0, 1) if self.every else logits


def sequence(x: Tensor) -> Tensor:
    """Return a series unchanged, and an image as a series of rows."""
    return x if x.dim() == 3 else x.transpose(1, 2).flatten(2)
