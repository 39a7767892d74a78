"""Networks of other kinds: operators, differential equations, spikes, shapes and contrasts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

operators = Library("neuraloperator", "neuralop")
equations = Library("torchdiffeq", "torchdiffeq")
spikes = Library("snntorch", "snntorch")
sirens = Library("siren-pytorch", "siren_pytorch")
equivariant = Library("egnn-pytorch", "egnn_pytorch")
efficient = Library("efficientnet_pytorch", "efficientnet_pytorch")
own_latent = Library("byol-pytorch", "byol_pytorch", "torchvision")
metric = Library("pytorch-metric-learning", "pytorch_metric_learning")
libraries = (operators, equations, spikes, sirens, equivariant, efficient, own_latent, metric)


def diffused(side: int = 16) -> tuple[Tensor, Tensor]:
    """Return random fields, and the fields after some smoothing."""
    fields = F.interpolate(torch.randn(8, 1, 4, 4), side, mode="bicubic")
    return fields, F.avg_pool2d(fields, 5, 1, 2)


@operators.architecture
def fourier_operator() -> Inputs:
    from neuralop.models import FNO

    model = FNO(n_modes=(6, 6), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)
    return Inputs(model, diffused(), nn.MSELoss())


@operators.architecture
def tensorized_fourier_operator() -> Inputs:
    from neuralop.losses import LpLoss
    from neuralop.models import TFNO

    model = TFNO(
        n_modes=(6, 6), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2, rank=0.2
    )
    return Inputs(model, diffused(), LpLoss(d=2))


@operators.architecture
def u_shaped_operator() -> Inputs:
    from neuralop.models import UNO

    model = UNO(
        1, 1, hidden_channels=8, n_layers=3, uno_out_channels=[8, 8, 8],
        uno_n_modes=[[4, 4], [4, 4], [4, 4]], uno_scalings=[[1, 1], [0.5, 0.5], [2, 2]],
        horizontal_skips_map={2: 0}, channel_mlp_skip="linear",
    )  # fmt: skip
    return Inputs(model, diffused(), nn.MSELoss())


@equations.architecture
def neural_ode() -> Inputs:
    """The spiral of the package's demo: states in, the states some time later out."""
    from torchdiffeq import odeint

    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
            for layer in self.net:
                if isinstance(layer, nn.Linear):
                    nn.init.normal_(layer.weight, std=0.1)
                    nn.init.zeros_(layer.bias)

        def slope(self, t: Tensor, y: Tensor) -> Any:
            del t
            return self.net(y**3)

        def forward(self, start: Tensor) -> Any:
            return odeint(self.slope, start, torch.linspace(0, 1, 3), method="rk4")[-1]

    start = 2 * torch.randn(16, 2).clamp(-1, 1)
    turn = torch.tensor([[0.8, -0.5], [0.5, 0.8]])
    return Inputs(Flow(), (start, start @ turn), nn.L1Loss())


@spikes.architecture
def spiking_network() -> Inputs:
    """The network of the package's tutorial; it counts spikes over ten steps."""
    import snntorch
    from snntorch import surrogate

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            slope = surrogate.fast_sigmoid(slope=25)
            self.fc1, self.fc2 = nn.Linear(8, 32), nn.Linear(32, 3)
            self.lif1 = snntorch.Leaky(beta=0.9, spike_grad=slope)
            self.lif2 = snntorch.Leaky(beta=0.9, spike_grad=slope)

        def forward(self, x: Tensor) -> Any:
            first, second = self.lif1.init_leaky(), self.lif2.init_leaky()
            potentials = []
            for _ in range(10):
                spikes, first = self.lif1(self.fc1(x), first)
                _, second = self.lif2(self.fc2(spikes), second)
                potentials.append(second)
            return torch.stack(potentials).mean(0)

    return Inputs(Net(), data.table(), nn.CrossEntropyLoss())


@sirens.architecture
def siren() -> Inputs:
    """Places in an image to its colours."""
    from siren_pytorch import SirenNet

    model = SirenNet(dim_in=2, dim_hidden=32, dim_out=3, num_layers=3, w0_initial=30.0)
    line = torch.linspace(-1, 1, 16)
    places = torch.cartesian_prod(line, line)
    colours = torch.stack([places.prod(1), places.sum(1).sin(), places[:, 0]], 1)
    return Inputs(model, (places, colours), nn.MSELoss())


@equivariant.architecture
def egnn() -> Inputs:
    """Points in space with features; features and places out."""
    from egnn_pytorch import EGNN

    class Energy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = EGNN(dim=16), EGNN(dim=16)
            self.head = nn.Linear(16, 1)

        def forward(self, features: Tensor, places: Tensor) -> Any:
            features, places = self.first(features, places)
            features, places = self.second(features, places)
            return self.head(features).mean(1)

    features, places = torch.randn(8, 6, 16), torch.randn(8, 6, 3)
    targets = torch.cdist(places, places).mean((1, 2))[:, None]
    return Inputs(Energy(), ((features, places), targets), nn.MSELoss())


@efficient.architecture
def efficientnet() -> Inputs:
    from efficientnet_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-b0", num_classes=10)
    return classifies(model, 32)


@own_latent.architecture
def byol() -> Inputs:
    """It takes images and returns its loss."""
    from byol_pytorch import BYOL
    from torchvision.models import resnet

    body = resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], num_classes=16)
    model = BYOL(
        body, image_size=32, hidden_layer="avgpool", projection_size=16, projection_hidden_size=32,
        use_momentum=True,
    )  # fmt: skip
    return Inputs(model, data.images(8, 3, 32)[0])


def embeds() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))


@metric.architecture
def triplets() -> Inputs:
    """Embeddings of rows; the loss gets embeddings and labels."""
    from pytorch_metric_learning.losses import TripletMarginLoss

    return Inputs(embeds(), data.table(), TripletMarginLoss())


@metric.architecture
def contrast() -> Inputs:
    from pytorch_metric_learning.losses import NTXentLoss

    return Inputs(embeds(), data.table(), NTXentLoss(temperature=0.1))


@metric.architecture
def proxies() -> Inputs:
    """The loss holds a proxy for each class."""
    from pytorch_metric_learning.losses import ProxyAnchorLoss

    return Inputs(embeds(), data.table(), ProxyAnchorLoss(3, 8))
