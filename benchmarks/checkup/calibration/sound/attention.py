"""Sound transformers, with torch's own parts and with hand-written ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Decoder, Encoder
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import LENGTH, VOCABULARY

cases = CaseList()
CE = nn.CrossEntropyLoss()


def language(model: nn.Module, rate: float | None = None) -> Inputs:
    optimizer = None if rate is None else torch.optim.AdamW(model.parameters(), lr=rate)
    return Inputs(model, data.language(), data.next_token, optimizer)


cases.sound("gpt")(lambda: language(Decoder(), 3e-4))
cases.sound("gpt, no loss is given")(lambda: Inputs(Decoder(), data.language()))
cases.sound("gpt, tokens only")(lambda: Inputs(Decoder(), data.language()[0]))
cases.sound("gpt, no batch is given")(lambda: Inputs(Decoder()))
cases.sound("bert, without a mask")(lambda: Inputs(Encoder(), data.text(), CE))


@cases.sound("gpt, fused attention, tied weights, scaled start")
def _() -> Inputs:
    class Fused(Attention):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
            del mask
            batch, length, width = x.shape
            parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    model = Decoder(Fused)
    nn.init.normal_(model.tokens.weight, std=0.02)
    model.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
    model.head.weight = model.tokens.weight
    return language(model)


@cases.sound("gpt, a row of outputs for each token of the batch")
def _() -> Inputs:
    class Rows(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            return super().forward(tokens).flatten(0, 1)

    return Inputs(Rows(), data.language(), lambda out, want: F.cross_entropy(out, want.flatten()))


@cases.sound("bert, padded texts, a dict")
def _() -> Inputs:
    tokens, mask, labels = data.padded()
    return Inputs(Encoder(), ({"tokens": tokens, "attention_mask": mask}, labels), CE)


@cases.sound("bert, padded texts, two inputs")
def _() -> Inputs:
    tokens, mask, labels = data.padded()
    model = Encoder()
    return Inputs(model, (tokens, mask, labels), CE, torch.optim.AdamW(model.parameters(), lr=1e-4))


class Rotary(Attention):
    """Rotates queries and keys by their positions."""

    def turned(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        speed = 1e4 ** -(torch.arange(half, device=x.device) / half)
        angle = torch.arange(x.shape[-2], device=x.device)[:, None] * speed
        a, b = x[..., :half], x[..., half:]
        return torch.cat(
            [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1
        ).to(x.dtype)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = self.turned(q) @ self.turned(k).transpose(-2, -1) / (width // self.heads) ** 0.5
        mixed = self.weights(scores, mask) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Llama(Decoder):
    """Rotary positions, RMS norms and no biases."""

    def __init__(self) -> None:
        super().__init__(Rotary)
        del self.places
        for block in self.blocks:
            block.norm1, block.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.norm = nn.RMSNorm(WIDTH)  # type: ignore[assignment]

    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens)
        return embedded


cases.sound("llama, rotary places and RMS norms")(lambda: language(Llama(), 1e-3))


class Torchs(nn.Module):
    """Torch's encoder with learnt positions. Predicts a class or the next token."""

    def __init__(self, outputs: int, *, causal: bool, first: bool = False) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 64, dropout=0.1, batch_first=True, norm_first=first
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head, self.causal = nn.Linear(WIDTH, outputs), causal

    def forward(self, tokens: Tensor, src_key_padding_mask: Tensor | None = None) -> Any:
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))
        mask = None
        if self.causal:
            mask = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        x = self.encoder(x, mask, src_key_padding_mask)
        return self.head(x) if self.causal else self.head(x[:, 0])


cases.sound("torch's encoder")(lambda: Inputs(Torchs(3, causal=False), data.text(), CE))
cases.sound("torch's encoder, causal")(lambda: language(Torchs(VOCABULARY, causal=True)))


@cases.sound("torch's encoder, padding, norm first")
def _() -> Inputs:
    tokens, mask, labels = data.padded()
    batch = {"tokens": tokens, "src_key_padding_mask": ~mask}
    return Inputs(Torchs(3, causal=False, first=True), (batch, labels), CE)


@cases.sound("torch's transformer, source and target")
def _() -> Inputs:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
            self.body = nn.Transformer(WIDTH, 4, 1, 1, 64, dropout=0.0, batch_first=True)
            self.head = nn.Linear(WIDTH, VOCABULARY)

        def placed(self, tokens: Tensor) -> Any:
            return self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))

        def forward(self, source: Tensor, target: Tensor) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
            return self.head(self.body(self.placed(source), self.placed(target), tgt_mask=mask))

    source, _ = data.text()
    target, following = data.language(32, 9)
    return Inputs(Both(), (source, target, following), data.next_token)


@cases.sound("torch's attention over a series, sines as places")
def _() -> Inputs:
    class Series(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
            self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
            angle = torch.arange(LENGTH)[:, None] / 1e4 ** (torch.arange(WIDTH) / WIDTH)
            self.register_buffer("waves", angle.sin())

        def forward(self, x: Tensor) -> Any:
            x = self.first(x) + self.get_buffer("waves")[: x.shape[1]]
            return self.head((x + self.attention(x, x, x, need_weights=False)[0]).mean(1))

    return Inputs(Series(), data.series(), CE)


@cases.sound("perceiver, queries that are learnt")
def _() -> Inputs:
    class Queries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.queries = nn.Parameter(torch.randn(4, WIDTH) * 0.5)
            self.first = nn.Linear(4, WIDTH)
            self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.5)
            self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
            self.head = nn.Linear(4 * WIDTH, 3)

        def forward(self, x: Tensor) -> Any:
            x = self.first(x) + self.places[: x.shape[1]]
            asked = self.queries.expand(len(x), -1, -1)
            return self.head(self.attention(asked, x, x)[0].flatten(1))

    return Inputs(Queries(), data.series(), CE)


@cases.sound("attention pools a text")
def _() -> Inputs:
    def pooled(net: Any, tokens: Tensor) -> Any:
        states = net.rnn(net.tokens(tokens))[0]
        return net.head((net.score(states).softmax(1) * states).sum(1))

    model = Net(
        pooled,
        tokens=nn.Embedding(VOCABULARY, WIDTH),
        rnn=nn.GRU(WIDTH, WIDTH, batch_first=True),
        score=nn.Linear(WIDTH, 1),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.text(), CE)


@cases.sound("masked language model, -100 elsewhere")
def _() -> Inputs:
    tokens, _ = data.text()
    asked = torch.rand(tokens.shape) < 0.3
    asked[:, 0] = True
    inputs = tokens.masked_fill(asked, 0)
    model = Decoder(causal=False)
    return Inputs(model, (inputs, tokens.masked_fill(~asked, -100)), data.next_token)
