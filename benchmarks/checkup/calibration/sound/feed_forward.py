"""Sound feed-forward models with many tasks and ways to pass a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.base_models import Autoencoder, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@cases.sound("mlp, three classes")
def _() -> Inputs:
    model = mlp()
    return Inputs(model, data.table(), CE, torch.optim.Adam(model.parameters(), lr=1e-3))


@cases.sound("mlp, no loss is given")
def _() -> Inputs:
    return Inputs(mlp(), data.table())


@cases.sound("mlp, no batch is given")
def _() -> Inputs:
    return Inputs(mlp())


@cases.sound("mlp, a DataLoader and another for validation")
def _() -> Inputs:
    model = mlp()
    rows, labels = data.table(192)
    train = DataLoader(TensorDataset(rows[:128], labels[:128]), batch_size=32, shuffle=True)
    test = DataLoader(TensorDataset(rows[128:], labels[128:]), batch_size=32)
    return Inputs(model, train, CE, torch.optim.SGD(model.parameters(), lr=0.1), test)


@cases.sound("regression of one value")
def _() -> Inputs:
    model = mlp(outputs=1)
    return Inputs(model, data.curve(64), MSE, torch.optim.Adam(model.parameters()))


@cases.sound("regression of seven values, Huber loss")
def _() -> Inputs:
    return Inputs(mlp(outputs=7), data.curve(outputs=7), nn.HuberLoss())


@cases.sound("regression, the output is a row without a second dimension")
def _() -> Inputs:
    rows, targets = data.curve()
    model = Net(lambda net, x: net.body(x).squeeze(-1), body=mlp(outputs=1))
    return Inputs(model, (rows, targets[:, 0]), MSE)


@cases.sound("yes or no, logits")
def _() -> Inputs:
    return Inputs(mlp(outputs=1), data.answers(64), BCE)


@cases.sound("yes or no, sigmoid and its loss")
def _() -> Inputs:
    model = nn.Sequential(mlp(outputs=1), nn.Sigmoid())
    return Inputs(model, data.answers(), nn.BCELoss())


@cases.sound("six answers for each sample")
def _() -> Inputs:
    return Inputs(mlp(outputs=6), data.answers(labels=6), BCE)


@cases.sound("log-softmax and nll")
def _() -> Inputs:
    return Inputs(nn.Sequential(mlp(), nn.LogSoftmax(-1)), data.table(), nn.NLLLoss())


@cases.sound("mlp with batch norm and dropout")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(64, 3),
    )  # fmt: skip
    return Inputs(model, data.table(64), CE, torch.optim.AdamW(model.parameters(), lr=3e-3))


@cases.sound("deep mlp of SELU with alpha dropout")
def _() -> Inputs:
    layers: list[nn.Module] = [nn.Linear(8, 48)]
    for _ in range(8):
        linear = nn.Linear(48, 48)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="linear")
        layers += [nn.SELU(), nn.AlphaDropout(0.05), linear]
    return Inputs(nn.Sequential(*layers, nn.SELU(), nn.Linear(48, 3)), data.table(), CE)


@cases.sound("logistic regression that starts at zero")
def _() -> Inputs:
    model = nn.Linear(8, 3)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    return Inputs(model, data.table(), CE, torch.optim.SGD(model.parameters(), lr=0.5))


class Fields(nn.Module):
    """Numbers and categories, as in a table of customers."""

    def __init__(self) -> None:
        super().__init__()
        self.city, self.kind = nn.Embedding(12, 6), nn.Embedding(5, 4)
        self.body = mlp(18, 1)

    def forward(self, numbers: Tensor, city: Tensor, kind: Tensor) -> Any:
        return self.body(torch.cat([numbers, self.city(city), self.kind(kind)], 1))


@cases.sound("categories and numbers, three inputs")
def _() -> Inputs:
    rows, targets = data.answers()
    city, kind = torch.randint(12, (32,)), torch.randint(5, (32,))
    return Inputs(Fields(), (rows, city, kind, targets), BCE)


@cases.sound("categories and numbers, a dict")
def _() -> Inputs:
    rows, targets = data.answers()
    city, kind = torch.randint(12, (32,)), torch.randint(5, (32,))
    return Inputs(Fields(), ({"numbers": rows, "city": city, "kind": kind}, targets), BCE)


@cases.sound("two inputs, bilinear")
def _() -> Inputs:
    model = Net(
        lambda net, a, b: net.last(net.first(a, b).relu()),
        first=nn.Bilinear(8, 8, 24),
        last=nn.Linear(24, 3),
    )
    rows, labels = data.table()
    return Inputs(model, ((rows, torch.randn(32, 8)), labels), CE)


@cases.sound("siamese, the distance of two")
def _() -> Inputs:
    def distance(net: Any, a: Tensor, b: Tensor) -> Any:
        return net.scale(F.pairwise_distance(net.body(a).tanh(), net.body(b).tanh())[:, None])

    rows, labels = data.table(30)
    place = torch.arange(30)
    other = (place + torch.where(place % 2 == 0, 3, 1)) % 30  # every second pair has the same class
    same = (labels == labels[other]).float()[:, None]
    model = Net(distance, body=mlp(outputs=16), scale=nn.Linear(1, 1))
    return Inputs(model, ((rows, rows[other]), same), BCE)


@cases.sound("mixture of four experts, all weighed")
def _() -> Inputs:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(8, 4)
            self.experts = nn.ModuleList(mlp(width=16) for _ in range(4))

        def forward(self, x: Tensor) -> Any:
            all_of_them = torch.stack([expert(x) for expert in self.experts], 1)
            return (self.gate(x).softmax(-1)[..., None] * all_of_them).sum(1)

    return Inputs(Experts(), data.table(64), CE)


@cases.sound("a field of light, sines of coordinates")
def _() -> Inputs:
    def light(net: Any, x: Tensor) -> Any:
        waves = torch.cat([x] + [part(2**power * x) for power in range(4) for part in WAVES], -1)
        return net.body(waves)

    model = Net(light, body=nn.Sequential(mlp(27, 4, 64), nn.Sigmoid()))
    places = torch.rand(256, 3) * 2 - 1
    colours = torch.cat([places.sin(), places[:, :1].cos()], 1).abs().clamp(0, 1)
    return Inputs(model, (places, colours), MSE)


WAVES = (torch.sin, torch.cos)


@cases.sound("a graph of five nodes, adjacency as an input")
def _() -> Inputs:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(6, 32), nn.Linear(32, 32)
            self.head = nn.Linear(32, 3)

        def forward(self, nodes: Tensor, edges: Tensor) -> Any:
            edges = edges / edges.sum(-1, keepdim=True).clamp(min=1)
            hidden = self.first(edges @ nodes).relu()
            return self.head((hidden + self.second(edges @ hidden).relu()).mean(1))

    edges = (torch.rand(32, 5, 5) < 0.5).float()
    edges = ((edges + edges.transpose(1, 2) + torch.eye(5)) > 0).float()
    nodes = torch.randn(32, 5, 6)
    labels = torch.arange(32) % 3
    return Inputs(Graph(), (nodes + labels[:, None, None], edges, labels), CE)


@cases.sound("deep sets")
def _() -> Inputs:
    model = Net(lambda net, x: net.head(net.each(x).mean(1)), each=mlp(4, 32), head=mlp(32, 3))
    return Inputs(model, data.series(), CE)


@cases.sound("autoencoder of rows")
def _() -> Inputs:
    rows = data.table(64)[0]
    model = Autoencoder()
    return Inputs(model, (rows, rows), MSE, torch.optim.Adam(model.parameters()))


@cases.sound("autoencoder, without targets")
def _() -> Inputs:
    return Inputs(Autoencoder(), data.table()[0])


@cases.sound("policy and value, two outputs")
def _() -> Inputs:
    def both(net: Any, x: Tensor) -> tuple[Any, Any]:
        hidden = net.body(x).relu()
        return net.policy(hidden), net.value(hidden)

    model = Net(both, body=mlp(outputs=32), policy=nn.Linear(32, 3), value=nn.Linear(32, 1))
    return Inputs(model, data.table()[0])


@cases.sound("batch of four")
def _() -> Inputs:
    return Inputs(mlp(), data.table(4), CE)


@cases.sound("counts, Poisson loss")
def _() -> Inputs:
    rows, values = data.curve()
    return Inputs(mlp(outputs=1), (rows, torch.poisson(values.exp())), nn.PoissonNLLLoss())


@cases.sound("NumPy arrays")
def _() -> Inputs:
    rows, labels = data.table()
    return Inputs(mlp(), (rows.numpy(), labels.numpy()), CE)
