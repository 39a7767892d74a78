"""Sound recurrent, convolutional and attention models of sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Attention, Block, Decoder, Encoder
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import LENGTH, VOCABULARY

cases = CaseList("reporting")
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def language(model: nn.Module) -> Inputs:
    return Inputs(model, data.language(), data.next_token)


def words() -> nn.Embedding:
    return nn.Embedding(VOCABULARY, WIDTH)


@cases.sound("gru of two layers, a language model with dropout")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x))[0]),
        tokens=words(),
        rnn=nn.GRU(WIDTH, WIDTH, 2, batch_first=True, dropout=0.2),
        head=nn.Linear(WIDTH, VOCABULARY),
    )
    return language(model)


@cases.sound("lstm, three values ahead at once")
def _() -> Inputs:
    waves = data.series(48, 15, 1)[0]
    return Inputs(RNN(1, 3), (waves[:, :12], waves[:, 12:, 0]), nn.HuberLoss())


@cases.sound("lstm cells with a layer norm in the loop")
def _() -> Inputs:
    class Cells(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.norm = nn.LSTMCell(4, WIDTH), nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, 3)

        def forward(self, x: Tensor) -> Any:
            hidden, cell = x.new_zeros(len(x), WIDTH), x.new_zeros(len(x), WIDTH)
            for step in x.unbind(1):
                hidden, cell = self.cell(step, (hidden, cell))
                hidden = self.norm(hidden)
            return self.head(hidden)

    return Inputs(Cells(), data.series(), CE)


@cases.sound("convolutions of three widths over letters")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        x = net.tokens(x).transpose(1, 2)
        made = [each(x).relu().amax(-1) for each in (net.one, net.three, net.five)]
        return net.head(torch.cat(made, 1))

    one, three, five = (nn.Conv1d(WIDTH, 12, size, padding=size // 2) for size in (1, 3, 5))
    model = Net(run, tokens=words(), one=one, three=three, five=five, head=nn.Linear(36, 3))
    return Inputs(model, data.text(), CE)


@cases.sound("the fourth word from three")
def _() -> Inputs:
    tokens = torch.randint(VOCABULARY, (64, 4))
    model = Net(
        lambda net, x: net.body(net.tokens(x).flatten(1)),
        tokens=words(),
        body=nn.Sequential(nn.Linear(3 * WIDTH, 64), nn.Tanh(), nn.Linear(64, VOCABULARY)),
    )
    return Inputs(model, (tokens[:, :3], tokens[:, 3]), CE)


@cases.sound("gated causal convolutions, a language model")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor) -> Any:
        x = net.tokens(tokens).transpose(1, 2)
        x = x + F.glu(net.one(F.pad(x, (2, 0))), 1)
        x = x + F.glu(net.two(F.pad(x, (4, 0))), 1)
        return net.head(x.transpose(1, 2))

    model = Net(
        run,
        tokens=words(),
        one=nn.Conv1d(WIDTH, 2 * WIDTH, 3),
        two=nn.Conv1d(WIDTH, 2 * WIDTH, 3, dilation=2),
        head=nn.Linear(WIDTH, VOCABULARY),
    )
    return language(model)


@cases.sound("gpt, waves as places")
def _() -> Inputs:
    class Waves(Decoder):
        def __init__(self) -> None:
            super().__init__()
            del self.places

        def embedded(self, tokens: Tensor) -> Tensor:
            speed = 1e4 ** -(torch.arange(0, WIDTH, 2) / WIDTH)
            angle = torch.arange(tokens.shape[1])[:, None] * speed
            embedded: Tensor = self.tokens(tokens) + torch.cat([angle.sin(), angle.cos()], 1)
            return embedded

    return language(Waves())


class After(Block):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.feed(x))


@cases.sound("gpt, norms after what is added")
def _() -> Inputs:
    model = Decoder(layers=0)
    model.blocks = nn.ModuleList(After(Attention(causal=True)) for _ in range(2))
    return language(model)


class Normed(Attention):
    """Applies a layer norm to queries and keys."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__(causal=causal)
        self.normq, self.normk = nn.LayerNorm(8), nn.LayerNorm(8)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = self.normq(q) @ self.normk(k).transpose(-2, -1) / 8**0.5
        mixed = self.weights(scores, mask) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Window(Attention):
    """Each position sees itself and the three before it."""

    def future(self, length: int) -> Tensor:
        every = torch.ones(length, length, dtype=torch.bool)
        return every.triu(1) | every.tril(-4)


class OneKey(Attention):
    """All heads share one key and one value."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__(causal=causal)
        self.qkv = nn.Linear(WIDTH, WIDTH + 16)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split([WIDTH, 8, 8], -1)
        q = q.view(batch, length, self.heads, 8).transpose(1, 2)
        scores = q @ k[:, None].transpose(-2, -1) / 8**0.5
        mixed = self.weights(scores, mask) @ v[:, None]
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


cases.sound("gpt, queries and keys are normed")(lambda: language(Decoder(Normed)))
cases.sound("gpt, a window of four places")(lambda: language(Decoder(Window)))
cases.sound("gpt, one key for all heads")(lambda: language(Decoder(OneKey)))


class First(Encoder):
    """Prepends a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Any:
        x = torch.cat([self.first.expand(len(tokens), -1, -1), self.embedded(tokens)], 1)
        if attention_mask is not None:
            attention_mask = F.pad(attention_mask, (1, 0), value=True)
        return self.head(self.through(x, attention_mask)[:, 0])


class Highest(Encoder):
    def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return x.amax(1) if mask is None else x.masked_fill(~mask[..., None], -1e4).amax(1)


def padded(model: nn.Module) -> Inputs:
    tokens, mask, labels = data.padded()
    return Inputs(model, ({"tokens": tokens, "attention_mask": mask}, labels), CE)


cases.sound("bert, a token for the class, padded")(lambda: padded(First()))
cases.sound("bert, the highest values, padding left out")(lambda: padded(Highest()))


@cases.sound("bert, two texts with a number for each")
def _() -> Inputs:
    class Two(Encoder):
        def __init__(self) -> None:
            super().__init__(outputs=2)
            self.kinds = nn.Embedding(2, WIDTH)

        def forward(self, tokens: Tensor, kinds: Any = None) -> Any:
            x = self.through(self.embedded(tokens) + self.kinds(kinds))
            return self.head(self.pooled(x, None))

    tokens, _ = data.text(48)
    kinds = (torch.arange(LENGTH) >= LENGTH // 2).long().expand(48, -1).clone()
    return Inputs(Two(), ({"tokens": tokens, "kinds": kinds}, torch.arange(48) % 2), CE)


class Translates(nn.Module):
    """Torch's encoder and decoder, with a frozen table of waves as places."""

    def __init__(self) -> None:
        super().__init__()
        angle = torch.arange(64)[:, None] * 1e4 ** -(torch.arange(0, WIDTH, 2) / WIDTH)
        table: Any = nn.Embedding.from_pretrained
        self.places = table(torch.cat([angle.sin(), angle.cos()], 1))
        self.tokens = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.encoder = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def embedded(self, tokens: Tensor) -> Any:
        return self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))

    def forward(self, source: Tensor, target: Tensor) -> Any:
        hidden, length = source == 0, target.shape[1]
        memory = self.encoder(self.embedded(source), src_key_padding_mask=hidden)
        x = self.decoder(
            self.embedded(target),
            memory,
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            memory_key_padding_mask=hidden,
        )
        return self.head(x)


@cases.sound("translator, frozen waves, shifted once, padding is left out")
def _() -> Inputs:
    source, target = data.padded()[0], data.padded(length=10)[0]
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    batch = {"source": source, "target": target[:, :-1]}, target[:, 1:]
    return Inputs(Translates(), batch, lambda out, want: loss(out.flatten(0, 1), want.flatten()))
