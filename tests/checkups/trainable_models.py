"""Small models of five kinds, each with a batch and a loss."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

Made = tuple[nn.Module, tuple[Tensor, Tensor], Callable[[Tensor, Tensor], Tensor]]
N = 32


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def perceptron(outputs: int = 3, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, outputs), *last
    )


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(4, 16, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.layer(x)[0][:, -1])
        return out


class Gpt(nn.Module):
    def __init__(self, *, tied: bool = False, width: int = 32) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, width), nn.Embedding(8, width)
        self.block = nn.TransformerEncoderLayer(
            width, 2, 2 * width, 0.1, batch_first=True, norm_first=True
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 20, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        hidden = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        out: Tensor = self.head(self.norm(self.block(hidden, mask, is_causal=True)))
        return out


class Then(nn.Module):
    """A model with something done to its outputs."""

    def __init__(self, model: nn.Module, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.model, self.function = model, function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.model(x))


def each_token(output: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(output.flatten(0, 1), targets.flatten())


def mlp() -> Made:
    return perceptron(), (torch.randn(N, 8), torch.arange(N) % 3), nn.CrossEntropyLoss()


def cnn() -> Made:
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.5), nn.Linear(8 * 16, 5),
    )  # fmt: skip
    return model, (torch.randn(N, 1, 8, 8), torch.arange(N) % 5), nn.CrossEntropyLoss()


def rnn() -> Made:
    return Recurrent(), (torch.randn(N, 6, 4), torch.arange(N) % 3), nn.CrossEntropyLoss()


def gpt() -> Made:
    tokens = torch.randint(20, (N, 9))
    return Gpt(), (tokens[:, :-1], tokens[:, 1:]), each_token


def autoencoder() -> Made:
    x = torch.randn(N, 32)
    return nn.Sequential(nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 32)), (x, x), nn.MSELoss()


def regression() -> Made:
    return perceptron(1), (torch.randn(N, 8), torch.randn(N, 1)), nn.MSELoss()


CLASSIFIERS = (mlp, cnn, rnn, gpt)
KINDS = (*CLASSIFIERS, autoencoder, regression)
