"""More sound generative models, and unusual but correct choices."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations

from benchmarks.checkup import data
from benchmarks.checkup.base_models import Autoencoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.sound("autoencoder of signs, straight through")
def _() -> Inputs:
    class Signs(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            soft = code.tanh()
            return soft + (torch.where(code > 0, 1.0, -1.0) - soft).detach()

    rows = data.table(64)[0]
    return Inputs(Signs(code=12), (rows, rows), MSE)


@cases.sound("autoencoder whose decoder is its encoder turned round")
def _() -> Inputs:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.bias = nn.Linear(8, 6), nn.Parameter(torch.zeros(8))

        def forward(self, x: Tensor) -> Any:
            return self.first(x).tanh() @ self.first.weight + self.bias

    rows = data.table()[0]
    return Inputs(Turned(), (rows, rows), MSE)


@cases.sound("sparse autoencoder, four of 32 units")
def _() -> Inputs:
    def sparse(net: Any, x: Tensor) -> Any:
        hidden = net.encoder(x).relu()
        return net.decoder(hidden * (hidden >= hidden.topk(4, dim=1).values[:, -1:]))

    rows = data.table(64)[0]
    model = Net(sparse, encoder=nn.Linear(8, 32), decoder=nn.Linear(32, 8))
    return Inputs(model, (rows, rows), MSE)


@cases.sound("flow of couplings, its own likelihood")
def _() -> Inputs:
    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = nn.ModuleList(mlp(4, 8) for _ in range(3))

        def forward(self, x: Tensor) -> Any:
            grown = torch.zeros(len(x))
            for step in self.steps:
                kept, moved = x.chunk(2, 1)
                scale, shift = step(kept).chunk(2, 1)
                scale = scale.tanh()
                x = torch.cat([moved * scale.exp() + shift, kept], 1)
                grown = grown + scale.sum(1)
            return {"logits": x, "loss": (0.5 * x.square().sum(1) - grown).mean()}

    return Inputs(Flow(), data.table(64)[0])


@cases.sound("convolutional vae, a loss of its own outputs")
def _() -> Inputs:
    class Draws(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(
                nn.Conv2d(1, 8, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten()
            )
            self.code, self.back = nn.Linear(288, 12), nn.Linear(6, 288)
            self.decoder = nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)

        def forward(self, x: Tensor) -> Any:
            mean, spread = self.code(self.encoder(x)).chunk(2, 1)
            code = mean + torch.randn_like(mean) * (spread / 2).exp() * self.training
            return self.decoder(self.back(code).relu().view(-1, 8, 6, 6)), mean, spread

    def judged(outputs: tuple[Tensor, Tensor, Tensor], images: Tensor) -> Tensor:
        made, mean, spread = outputs
        apart = 0.5 * (mean.square() + spread.exp() - 1 - spread).mean()
        return F.binary_cross_entropy_with_logits(made, images) + 0.01 * apart

    images = data.pictures()
    return Inputs(Draws(), (images, images), judged)


@cases.sound("images with pieces left out are filled in")
def _() -> Inputs:
    images = data.pictures(channels=3)
    holes = F.interpolate((torch.rand(16, 1, 4, 4) < 0.3).float(), 12)
    model = Net(
        lambda net, x, holes: net.body(torch.cat([x * (1 - holes), holes], 1)),
        body=nn.Sequential(
            nn.Conv2d(4, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
            nn.Conv2d(24, 3, 1), nn.Sigmoid(),
        ),
    )  # fmt: skip
    return Inputs(model, ((images, holes), images), nn.L1Loss())


@cases.sound("noise of a step, a dict, waves of the time")
def _() -> Inputs:
    class Denoises(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 64), nn.Linear(64, 8)
            self.time = nn.Linear(16, 64)

        def forward(self, x: Tensor, time: Tensor) -> Any:
            angle = time[:, None] * 100.0 ** -(torch.arange(8) / 8)
            waves = torch.cat([angle.sin(), angle.cos()], 1)
            return self.last(F.silu(self.first(x) + self.time(waves)))

    rows, noise = data.table(64)[0], torch.randn(64, 8)
    time = torch.randint(1, 100, (64,))
    share = (time / 100)[:, None]
    batch = {"x": (1 - share).sqrt() * rows + share.sqrt() * noise, "time": time.float()}
    return Inputs(Denoises(), (batch, noise), MSE)


@cases.sound("a slow copy that is not trained")
def _() -> Inputs:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.guess = mlp(8, 16), mlp(16, 16)
            self.slow = copy.deepcopy(self.body).requires_grad_(False)

        def forward(self, one: Tensor, other: Tensor) -> Any:
            want = F.normalize(self.slow(other), dim=1, eps=1e-4)
            have = F.normalize(self.guess(self.body(one)), dim=1, eps=1e-4)
            return {"logits": have, "loss": 2 - 2 * (have * want).sum(1).mean()}

    rows = data.table(64)[0]
    one, other = (rows + 0.1 * torch.randn_like(rows) for _ in range(2))
    model = Pair()
    trained = [each for each in model.parameters() if each.requires_grad]
    return Inputs(model, {"one": one, "other": other}, optimizer=torch.optim.Adam(trained))


@cases.sound("weights that another network makes")
def _() -> Inputs:
    def made(net: Any, x: Tensor, task: Tensor) -> Any:
        weights = net.hyper(task).view(-1, 3, 16)
        return (weights @ net.body(x).relu()[..., None])[..., 0]

    rows, labels = data.table()
    hyper = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 48))
    model = Net(made, body=nn.Linear(8, 16), hyper=hyper)
    return Inputs(model, ((rows, torch.randn(32, 2)), labels), CE)


@cases.sound("orthogonal weights by parametrization")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Linear(8, 32), nn.Tanh(), parametrizations.orthogonal(nn.Linear(32, 32)), nn.Tanh(),
        nn.Linear(32, 3),
    )  # fmt: skip
    return Inputs(model, data.table(), CE)


@cases.sound("generator of images, nearest pixels and tanh")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Linear(16, 288), nn.Unflatten(1, (32, 3, 3)), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Upsample(scale_factor=2), nn.Conv2d(32, 16, 3, padding=1), nn.BatchNorm2d(16),
        nn.ReLU(), nn.Upsample(scale_factor=2), nn.Conv2d(16, 3, 3, padding=1), nn.Tanh(),
    )  # fmt: skip
    return Inputs(model, torch.randn(16, 16))


@cases.sound("frozen batch norms in a cnn that is trained on")
def _() -> Inputs:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = cnn()
            with torch.no_grad():
                for _ in range(20):
                    self.body(data.images()[0])
            for each in self.norms():
                each.requires_grad_(False)
            self.train()

        def norms(self) -> list[nn.Module]:
            return [each for each in self.body if isinstance(each, nn.BatchNorm2d)]

        def train(self, mode: bool = True) -> Frozen:
            super().train(mode)
            for each in self.norms():
                each.eval()
            return self

        def forward(self, x: Tensor) -> Any:
            return self.body(x)

    return Inputs(Frozen(), data.images(), CE)
