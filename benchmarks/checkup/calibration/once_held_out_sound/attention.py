"""More sound transformers: other positions, shared parts and other mixing."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import HEADS, WIDTH, Attention, Block, Decoder, Encoder, mlp
from benchmarks.checkup.case import CaseList, Inputs
from benchmarks.checkup.data import LENGTH, VOCABULARY

cases = CaseList()
CE = nn.CrossEntropyLoss()


def language(model: nn.Module, rate: float | None = None) -> Inputs:
    optimizer = None if rate is None else torch.optim.AdamW(model.parameters(), lr=rate)
    return Inputs(model, data.language(), data.next_token, optimizer)


class Unplaced(Decoder):
    """Has no position embedding, because the attention adds positions."""

    def __init__(self, attention: type[Attention]) -> None:
        super().__init__(attention)
        del self.places

    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens)
        return embedded


class Alibi(Attention):
    """Scores fall with the distance, at a different rate in each head."""

    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        place = torch.arange(scores.shape[-1], device=scores.device)
        slope = 0.5 ** torch.arange(1, 1 + self.heads, device=scores.device)
        far = (place[:, None] - place).clamp(min=0) * slope[:, None, None]
        return super().hidden(scores - far, mask)


cases.sound("gpt, scores fall with the distance")(lambda: language(Unplaced(Alibi), 1e-3))


class Relative(Attention):
    """Learns a score for each distance."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__(causal=causal)
        self.far = nn.Embedding(63, HEADS)
        nn.init.normal_(self.far.weight, std=0.02)

    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        place = torch.arange(scores.shape[-1], device=scores.device)
        far = self.far((place[:, None] - place).clamp(-31, 31) + 31)
        return super().hidden(scores + far.permute(2, 0, 1), mask)


cases.sound("gpt, a score for each distance")(lambda: language(Unplaced(Relative)))
cases.sound("bert, a score for each distance too")(
    lambda: Inputs(Encoder(Relative), data.text(), CE)
)


class Grouped(Attention):
    """Two heads share their keys and values."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__(causal=causal)
        self.qkv = nn.Linear(WIDTH, 2 * WIDTH, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        del mask
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 8, 8).transpose(1, 2)
        q, k, v = parts[:, :4], parts[:, 4:6], parts[:, 6:]
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.back = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Any:
        gate, value = self.wide(x).chunk(2, -1)
        return self.back(F.silu(gate) * value)


@cases.sound("gpt, shared keys, gates and RMS norms of torch")
def _() -> Inputs:
    model = Decoder(Grouped)
    for block in model.blocks:
        block.feed = Gated()
        block.norm1, block.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
    return language(model)


class Parallel(Block):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        return x + self.attention(self.norm1(x), mask) + self.feed(self.norm2(x))


@cases.sound("gpt, attention beside feed-forward")
def _() -> Inputs:
    model = Decoder(layers=0)
    model.blocks = nn.ModuleList(Parallel(Attention(causal=True)) for _ in range(2))
    return language(model)


@cases.sound("bert, one block three times")
def _() -> Inputs:
    class Shared(Encoder):
        def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            for _ in range(3):
                x = self.blocks[0](x, mask)
            normed: Tensor = self.norm(x)
            return normed

    model = Shared()
    model.blocks = model.blocks[:1]
    tokens, mask, labels = data.padded()
    return Inputs(model, ({"tokens": tokens, "attention_mask": mask}, labels), CE)


@cases.sound("bert, where an answer starts and ends")
def _() -> Inputs:
    class Span(Encoder):
        def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Any:
            x = self.through(self.embedded(tokens), attention_mask)
            return self.head(x).unbind(-1)

    def judged(outputs: tuple[Tensor, Tensor], span: Tensor) -> Tensor:
        start = F.cross_entropy(outputs[0], span[:, 0])
        return (start + F.cross_entropy(outputs[1], span[:, 1])) / 2

    start = torch.randint(LENGTH // 2, (32, 1))
    span = torch.cat([start, start + torch.randint(LENGTH // 2, (32, 1))], 1)
    return Inputs(Span(outputs=2), (data.text()[0], span), judged)


class Linear(Attention):
    """Linear attention, divided by its sum."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        del mask
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        whole = q @ k.sum(-2)[..., None]
        mixed = q @ (k.transpose(-2, -1) @ v) / (whole + 1e-5)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


cases.sound("encoder of linear attention")(lambda: Inputs(Encoder(Linear), data.text(), CE))


@cases.sound("columns of a table as tokens")
def _() -> Inputs:
    class Columns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(0.3 * torch.randn(8, WIDTH))
            self.bias = nn.Parameter(0.3 * torch.randn(8, WIDTH))
            self.blocks = nn.Sequential(Block(Attention()), Block(Attention()))
            self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3))

        def forward(self, x: Tensor) -> Any:
            return self.head(self.blocks(x[..., None] * self.weight + self.bias).mean(1))

    return Inputs(Columns(), data.table(), CE)


@cases.sound("a series in pieces, the next six values")
def _() -> Inputs:
    class Pieces(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(6, WIDTH), nn.Linear(4 * WIDTH, 6)
            self.places = nn.Parameter(0.02 * torch.randn(4, WIDTH))
            layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, 0.1, batch_first=True)
            self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

        def forward(self, x: Tensor) -> Any:
            pieces = self.first(x.view(-1, 4, 6)) + self.places
            return self.last(self.body(pieces).flatten(1))

    waves = data.series(length=30, width=1)[0][..., 0]
    return Inputs(Pieces(), (waves[:, :24], waves[:, 24:]), nn.MSELoss())


@cases.sound("an image is told in words, torch's decoder")
def _() -> Inputs:
    class Teller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image = nn.Conv2d(1, WIDTH, 4, stride=4)
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(32, WIDTH)
            self.spots = nn.Parameter(0.02 * torch.randn(9, WIDTH))
            layer = nn.TransformerDecoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True)
            self.body, self.head = nn.TransformerDecoder(layer, 2), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, image: Tensor, words: Tensor) -> Any:
            seen = self.image(image).flatten(2).transpose(1, 2) + self.spots
            length = words.shape[1]
            said = self.tokens(words) + self.places(torch.arange(length))
            future = torch.ones(length, length, dtype=torch.bool).triu(1)
            return self.head(self.body(said, seen, tgt_mask=future))

    before, after = data.language(16, 8)
    return Inputs(Teller(), ((data.images(16)[0], before), after), data.next_token)


@cases.sound("gpt, several experts, the two best of each token")
def _() -> Inputs:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(WIDTH, 4)
            self.experts = nn.ModuleList(mlp(WIDTH, WIDTH) for _ in range(4))

        def forward(self, x: Tensor) -> Any:
            scores = self.gate(x)
            worst = scores < scores.topk(2, dim=-1).values[..., -1:]
            share = scores.masked_fill(worst, float("-inf")).softmax(-1)
            made = torch.stack([each(x) for each in self.experts], -1)
            return (made * share[..., None, :]).sum(-1)

    model = Decoder()
    model.blocks[1].feed = Experts()
    return language(model)
