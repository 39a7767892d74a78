"""Sound generative models, and models with special training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Autoencoder, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


class VAE(nn.Module):
    """Samples its code in training and uses the mean in evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU())
        self.mean, self.spread = nn.Linear(64, 8), nn.Linear(64, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 144), nn.Sigmoid())

    def forward(self, x: Tensor) -> Any:
        hidden = self.encoder(x)
        mean, spread = self.mean(hidden), self.spread(hidden)
        code = mean
        if self.training:
            code = mean + torch.randn_like(mean) * (spread / 2).exp()
        return self.decoder(code).view_as(x), mean, spread


@cases.sound("vae, its own loss, a tuple as output")
def _() -> Inputs:
    class Judged(VAE):
        def forward(self, x: Tensor) -> Any:
            made, mean, spread = super().forward(x)
            apart = 0.5 * (mean**2 + spread.exp() - 1 - spread).sum(1).mean() / 144
            return {"logits": made, "loss": F.mse_loss(made, x) + 0.01 * apart}

    return Inputs(Judged(), data.pictures())


@cases.sound("vae, images only")
def _() -> Inputs:
    return Inputs(VAE(), data.pictures())


@cases.sound("convolutional autoencoder")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 8, 3, stride=2, padding=1), nn.ReLU(),
        nn.ConvTranspose2d(8, 16, 4, stride=2, padding=1), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1), nn.Sigmoid(),
    )  # fmt: skip
    images = data.pictures()
    return Inputs(model, (images, images), MSE, torch.optim.Adam(model.parameters()))


@cases.sound("autoencoder that takes noise away")
def _() -> Inputs:
    class Noisy(Autoencoder):
        def forward(self, x: Tensor) -> Any:
            return super().forward(x + 0.1 * torch.randn_like(x) if self.training else x)

    rows = data.table()[0]
    return Inputs(Noisy(), (rows, rows), MSE)


@cases.sound("generator of images")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Linear(16, 32 * 9), nn.Unflatten(1, (32, 3, 3)), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    return Inputs(model, torch.randn(32, 16))


@cases.sound("discriminator, spectral norm")
def _() -> Inputs:
    spectral = parametrizations.spectral_norm
    model = nn.Sequential(
        spectral(nn.Conv2d(1, 16, 4, 2, 1)), nn.LeakyReLU(0.2),
        spectral(nn.Conv2d(16, 32, 4, 2, 1)), nn.LeakyReLU(0.2),
        nn.Flatten(), spectral(nn.Linear(32 * 9, 1)),
    )  # fmt: skip
    images = data.images()[0]
    real = (torch.arange(32) % 2).float()[:, None]
    return Inputs(model, (images, real), nn.BCEWithLogitsLoss())


@cases.sound("diffusion, noise and a time as inputs")
def _() -> Inputs:
    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.time, self.body = nn.Embedding(10, 8), mlp(16, 8, 64)

        def forward(self, x: Tensor, time: Tensor) -> Any:
            return self.body(torch.cat([x, self.time(time)], 1))

    rows, noise, times = data.table()[0], torch.randn(32, 8), torch.randint(10, (32,))
    share = times[:, None] / 10
    return Inputs(Denoiser(), (share * noise + (1 - share) * rows, times, noise), MSE)


@cases.sound("weight norm")
def _() -> Inputs:
    norm = parametrizations.weight_norm
    model = nn.Sequential(norm(nn.Linear(8, 32)), nn.ReLU(), norm(nn.Linear(32, 3)))
    return Inputs(model, data.table(), CE)


class Lora(nn.Module):
    """A frozen layer plus a low-rank change that starts at zero."""

    def __init__(self, layer: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: Tensor) -> Any:
        return self.layer(x) + 2 * F.linear(F.linear(x, self.a), self.b)


def of_trainable(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-2)


@cases.sound("low-rank changes of frozen layers")
def _() -> Inputs:
    layers = [nn.Linear(8, 64), nn.Linear(64, 64), nn.Linear(64, 3)]
    first, second, last = map(Lora, layers)
    model = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)
    return Inputs(model, data.table(), CE, of_trainable(model))


@cases.sound("frozen cnn, a new head")
def _() -> Inputs:
    body = cnn()[:-1].requires_grad_(False)
    model = nn.Sequential(body, nn.Linear(144, 4))
    return Inputs(model, data.images(), CE, of_trainable(model))


@cases.sound("frozen text encoder in evaluation, a new head")
def _() -> Inputs:
    class Tuned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = Encoder(outputs=WIDTH).requires_grad_(False), mlp(WIDTH)

        def forward(self, tokens: Tensor) -> Any:
            with torch.no_grad():
                features = self.body(tokens)
            return self.head(features)

    model = Tuned()
    return Inputs(model, data.text(), CE, of_trainable(model))


@cases.sound("highway of gates")
def _() -> Inputs:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value, self.gate = nn.Linear(32, 32), nn.Linear(32, 32)
            nn.init.constant_(self.gate.bias, -1.0)

        def forward(self, x: Tensor) -> Any:
            share = self.gate(x).sigmoid()
            return share * self.value(x).tanh() + (1 - share) * x

    model = nn.Sequential(nn.Linear(8, 32), Gate(), Gate(), Gate(), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.sound("residual mlp, branches start at zero")
def _() -> Inputs:
    class Branch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(32, 64), nn.Linear(64, 32)
            self.norm = nn.LayerNorm(32)
            nn.init.zeros_(self.last.weight)
            nn.init.zeros_(self.last.bias)

        def forward(self, x: Tensor) -> Any:
            return x + self.last(F.gelu(self.first(self.norm(x))))

    model = nn.Sequential(nn.Linear(8, 32), *(Branch() for _ in range(4)), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.sound("head that starts at zero")
def _() -> Inputs:
    model = mlp()
    nn.init.zeros_(model.get_parameter("4.weight"))
    nn.init.zeros_(model.get_parameter("4.bias"))
    return Inputs(model, data.table(), CE)


@cases.sound("images and texts side by side")
def _() -> Inputs:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image, self.text = cnn(outputs=16), Encoder(outputs=16)
            self.scale = nn.Parameter(torch.tensor(2.0))
            self.head = nn.Linear(32, 3)

        def forward(self, image: Tensor, tokens: Tensor) -> Any:
            pair = F.normalize(self.image(image), dim=-1), F.normalize(self.text(tokens), dim=-1)
            return self.head(self.scale * torch.cat(pair, 1))

    tokens, labels = data.text()
    return Inputs(Both(), ((data.images()[0], tokens), labels), CE)


@cases.sound("rank of items, embeddings of users and items")
def _() -> Inputs:
    model = Net(
        lambda net, user, item: (net.users(user) * net.items(item)).sum(-1, keepdim=True),
        users=nn.Embedding(40, 16),
        items=nn.Embedding(60, 16),
    )
    for each in model.parameters():
        nn.init.normal_(each, std=0.3)
    users, items = torch.randint(40, (64,)), torch.randint(60, (64,))
    return Inputs(model, (users, items, torch.randn(64, 1)), MSE)
