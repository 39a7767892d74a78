"""Small sound models of every kind, with a batch each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tests.checkups.attention_models import (
    GPT,
    LENGTH,
    SAMPLES,
    TOKENS,
    WIDTH,
    Attention,
    Bert,
    Block,
    Classifier,
    Clip,
    EinsumAttention,
    FlashAttention,
    Flattened,
    LinearAttention,
    Seq2Seq,
    Siamese,
    ViT,
    encoder,
    mlp,
    named,
    sentences,
    tokens,
)


def images(side: int = 8) -> tuple[Tensor, Tensor]:
    return torch.randn(SAMPLES, 3, side, side), torch.arange(SAMPLES) % 3


def series() -> tuple[Tensor, Tensor]:
    return torch.randn(SAMPLES, LENGTH, 5), torch.randn(SAMPLES, 1)


class Recurrent(nn.Module):
    def __init__(self, kind: Any = nn.LSTM, first: bool = True, both: bool = False) -> None:
        super().__init__()
        self.rnn = kind(5, WIDTH, batch_first=first, bidirectional=both)
        self.head, self.first = nn.Linear(WIDTH * (1 + both), 1), first

    def forward(self, x: Tensor) -> Any:
        out = self.rnn(x)[0]
        return self.head(out[:, -1] if self.first else out[-1])


class TokenRecurrent(nn.Module):
    """Sequence first, if it is asked to be."""

    def __init__(self, first: bool = True) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(TOKENS, WIDTH), nn.Linear(WIDTH, TOKENS)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=first)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.rnn(self.tokens(x))[0])


class Pooled(nn.Module):
    """A recurrent network whose outputs are weighed."""

    def __init__(self, dim: int = 1) -> None:
        super().__init__()
        self.rnn, self.score = nn.GRU(5, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)
        self.head, self.dim = nn.Linear(WIDTH, 1), dim

    def forward(self, x: Tensor) -> Any:
        out = self.rnn(x)[0]
        return self.head((self.score(out).softmax(self.dim) * out).sum(1))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        last = nn.BatchNorm2d(8)
        nn.init.zeros_(last.weight)
        self.body = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), last)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Any:
        x = self.stem(x)
        return self.head(F.relu(x + self.body(x)).mean((2, 3)))


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(12, 8), nn.Linear(4, 12)

    def forward(self, x: Tensor) -> Any:
        mean, spread = self.encode(x).chunk(2, -1)
        return (
            self.decode(mean + torch.randn_like(mean) * (spread / 2).exp()),
            mean,
            spread,
        )


class Mixer(nn.Module):
    """Made for one length."""

    def __init__(self) -> None:
        super().__init__()
        self.over = nn.Linear(LENGTH, LENGTH)
        self.norm, self.head = nn.LayerNorm(5), nn.Linear(5 * LENGTH, 1)

    def forward(self, x: Tensor) -> Any:
        x = x + self.over(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return self.head(x.flatten(1))


class TextCNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(TOKENS, WIDTH), nn.Linear(8, 3)
        self.convolution = nn.Conv1d(WIDTH, 8, 3)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.convolution(self.tokens(x).transpose(1, 2)).amax(-1))


class SelfAttention2d(nn.Module):
    """As in SAGAN: the values come first."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 1), nn.Conv2d(3, 3, 1)
        self.head, self.gamma = nn.Linear(3, 3), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Any:
        q, k, v = (layer(x).flatten(2) for layer in (self.q, self.k, self.v))
        weights = torch.bmm(q.transpose(1, 2), k).softmax(-1)
        x = x + self.gamma * torch.bmm(v, weights.transpose(1, 2)).view_as(x)
        return self.head(x.mean((2, 3)))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 3, 2, 1), nn.ConvTranspose2d(8, 8, 2, 2)
        self.norm, self.head = nn.GroupNorm(4, 8), nn.Conv2d(11, 3, 1)

    def forward(self, x: Tensor) -> Any:
        return self.head(torch.cat([x, self.up(F.relu(self.norm(self.down(x))))], 1))


class Lengths(nn.Module):
    def __init__(self, packed: bool = True) -> None:
        super().__init__()
        self.rnn, self.head, self.packed = (
            nn.GRU(5, WIDTH, batch_first=True),
            nn.Linear(WIDTH, 1),
            packed,
        )

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        fed: Any = x
        if self.packed:
            fed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True)
        return self.head(self.rnn(fed)[1][-1])


class Wavenet(nn.Module):
    def __init__(self, padding: int = 2) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(TOKENS, WIDTH), nn.Linear(WIDTH, TOKENS)
        self.convolution, self.padding = nn.Conv1d(WIDTH, WIDTH, 3), padding

    def forward(self, x: Tensor) -> Any:
        x = F.pad(self.tokens(x).transpose(1, 2), (self.padding, 2 - self.padding))
        return self.head(F.relu(self.convolution(x)).transpose(1, 2))


def rows(classes: int = 3) -> tuple[Tensor, Tensor]:
    return torch.randn(SAMPLES, 12), torch.arange(SAMPLES) % classes


def sequence_first() -> tuple[Tensor, Tensor]:
    return torch.randn(LENGTH, SAMPLES, 5), torch.randn(SAMPLES, 1)


def scaled() -> nn.Module:
    """A layer scale, as in ConvNeXt."""

    class Scaled(Block):
        def __init__(self) -> None:
            super().__init__(Attention())
            self.scale = nn.Parameter(torch.full((WIDTH,), 1e-6))

        def forward(self, x: Tensor) -> Any:
            return x + self.scale * self.attention(self.one(x))

    model = GPT()
    model.blocks = nn.Sequential(Scaled(), Scaled())
    return model


SOUND: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    "mlp": lambda: (mlp(), rows()),
    "mlp-batch-norm": lambda: (mlp(nn.BatchNorm1d(16), nn.Dropout()), rows()),
    "mlp-layer-norm": lambda: (mlp(nn.LayerNorm(16)), rows()),
    "mlp-made-up": lambda: (mlp(), None),
    "residual": lambda: (Residual(), images()),
    "residual-made-up": lambda: (Residual(), None),
    "unet": lambda: (UNet(), (images()[0], torch.randint(3, (SAMPLES, 8, 8)))),
    "vit": lambda: (ViT(), images()),
    "sagan": lambda: (SelfAttention2d(), images()),
    "lstm": lambda: (Recurrent(), series()),
    "lstm-sequence-first": lambda: (Recurrent(first=False), sequence_first()),
    "lstm-made-up": lambda: (Recurrent(first=False), None),
    "bidirectional": lambda: (Recurrent(nn.GRU, both=True), series()),
    "weighed": lambda: (Pooled(), series()),
    "token-gru": lambda: (TokenRecurrent(), tokens()),
    "token-gru-sequence-first": lambda: (
        TokenRecurrent(first=False),
        tuple(each.T.contiguous() for each in tokens()),
    ),
    "gpt": lambda: (GPT(), tokens()),
    "gpt-flash": lambda: (GPT(FlashAttention), tokens()),
    "gpt-einsum": lambda: (GPT(EinsumAttention), tokens()),
    "gpt-made-up": lambda: (GPT(), None),
    "gpt-layer-scale": lambda: (scaled(), tokens()),
    "gpt-flattened": lambda: (Flattened(), tokens()[0]),
    "classifier": lambda: (Classifier(), sentences()),
    "linear-attention": lambda: (Classifier(lambda: LinearAttention(False)), sentences()),
    "bert": lambda: (Bert(), named()),
    "bert-without-mask": lambda: (Bert(), {"input_ids": tokens()[0], "labels": sentences()[1]}),
    "vae": lambda: (VAE(), torch.randn(SAMPLES, 12)),
    "autoencoder": lambda: (
        nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 12)),
        (x := torch.rand(SAMPLES, 12), x),
    ),
    "siamese": lambda: (
        Siamese(),
        (torch.randn(SAMPLES, 12), torch.randn(SAMPLES, 12), torch.rand(SAMPLES)),
    ),
    "clip": lambda: (Clip(), ((torch.randn(6, 12), torch.randn(6, 12), torch.arange(6)))),
    "mixer": lambda: (Mixer(), series()),
    "text-cnn": lambda: (TextCNN(), sentences()),
    "encoder": lambda: (encoder(True), torch.randn(SAMPLES, LENGTH, 16)),
    "encoder-sequence-first": lambda: (encoder(False), torch.randn(LENGTH, SAMPLES, 16)),
    "encoder-made-up": lambda: (encoder(False), None),
    "lengths": lambda: (
        Lengths(),
        (torch.randn(6, 8, 5), torch.tensor([8, 8, 7, 6, 4, 3]), torch.randn(6, 1)),
    ),
    "seq2seq": lambda: (Seq2Seq(), (torch.randint(TOKENS, (6, 8)), *tokens())),
    "wavenet": lambda: (Wavenet(), tokens()),
    "factorisation": lambda: (nn.Embedding(TOKENS, 3), (torch.arange(6), torch.arange(6) % 3)),
}
