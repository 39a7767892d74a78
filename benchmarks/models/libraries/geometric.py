"""Graph networks of PyTorch Geometric: nodes, whole graphs, links and molecules."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("torch-geometric", "torch_geometric")
NODES, WIDTH, CLASSES = 40, 8, 3
Graph = tuple[Tensor, Tensor, Tensor]


def citations() -> Graph:
    """Return a graph in which most neighbours have the same label: nodes, edges and labels."""
    labels = torch.arange(NODES) % CLASSES
    nodes = torch.randn(CLASSES, WIDTH)[labels] + torch.randn(NODES, WIDTH)
    start = torch.randint(NODES, (160,))
    other = torch.randint(NODES, (160,))
    kin = (start + CLASSES * torch.randint(1, NODES // CLASSES, (160,))) % NODES
    ends = torch.where(torch.rand(160) < 0.8, kin, other)
    edges = torch.cat([torch.stack([start, ends]), torch.stack([ends, start])], 1)
    return nodes, edges, labels


def sorts_nodes(model: nn.Module) -> Inputs:
    nodes, edges, labels = citations()
    return Inputs(model, ((nodes, edges), labels), nn.CrossEntropyLoss())


def basic(name: str, **settings: Any) -> Inputs:
    """Return one of the basic models for nodes."""
    import torch_geometric.nn

    kind = getattr(torch_geometric.nn, name)
    return sorts_nodes(kind(WIDTH, 16, num_layers=2, out_channels=CLASSES, **settings))


@library.architecture
def gcn() -> Inputs:
    return basic("GCN", dropout=0.5)


@library.architecture
def graph_sage() -> Inputs:
    return basic("GraphSAGE")


@library.architecture
def gat() -> Inputs:
    return basic("GAT", heads=2)


@library.architecture
def gatv2() -> Inputs:
    return basic("GAT", heads=2, v2=True, norm="layer_norm")


@library.architecture
def gin() -> Inputs:
    return basic("GIN", norm="batch_norm")


@library.architecture
def pna() -> Inputs:
    degrees = torch.bincount(citations()[1][1], minlength=NODES).bincount()
    return basic("PNA", aggregators=["mean", "max"], scalers=["identity", "linear"], deg=degrees)


@library.architecture
def edge_cnn() -> Inputs:
    return basic("EdgeCNN")


@library.architecture
def graph_u_net() -> Inputs:
    from torch_geometric.nn import GraphUNet

    return sorts_nodes(GraphUNet(WIDTH, 16, CLASSES, depth=2))


class Layers(nn.Module):
    """Two layers of a kind, as in the examples of the library."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        x = F.dropout(x, 0.5, training=self.training)
        x = F.elu(self.first(x, edge_index))
        return F.log_softmax(self.second(x, edge_index), dim=-1)


@library.architecture
def transformer_conv() -> Inputs:
    from torch_geometric.nn import TransformerConv

    model = Layers(TransformerConv(WIDTH, 8, heads=2), TransformerConv(16, CLASSES))
    given = sorts_nodes(model)
    return Inputs(model, given.batch, F.nll_loss)


@library.architecture
def cheb_conv() -> Inputs:
    from torch_geometric.nn import ChebConv

    model = Layers(ChebConv(WIDTH, 16, K=3), ChebConv(16, CLASSES, K=3))
    return Inputs(model, sorts_nodes(model).batch, F.nll_loss)


@library.architecture
def arma_conv() -> Inputs:
    from torch_geometric.nn import ARMAConv

    model = Layers(ARMAConv(WIDTH, 16, num_stacks=2), ARMAConv(16, CLASSES))
    return Inputs(model, sorts_nodes(model).batch, F.nll_loss)


class OfData(nn.Module):
    """The first example of the library: it takes a `Data` object."""

    def __init__(self) -> None:
        from torch_geometric.nn import GCNConv

        super().__init__()
        self.conv1, self.conv2 = GCNConv(WIDTH, 16), GCNConv(16, CLASSES)

    def forward(self, data: Any) -> Any:
        x = self.conv1(data.x, data.edge_index).relu()
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.conv2(x, data.edge_index), dim=1)


@library.architecture
def gcn_of_data() -> Inputs:
    from torch_geometric.data import Data

    nodes, edges, labels = citations()
    data = Data(x=nodes, edge_index=edges, y=labels)
    return Inputs(OfData(), (data, labels), F.nll_loss)


class Graphs(nn.Module):
    """The classifier of graphs in the library's tutorial."""

    def __init__(self) -> None:
        from torch_geometric.nn import GraphConv

        super().__init__()
        self.conv1, self.conv2 = GraphConv(WIDTH, 16), GraphConv(16, 16)
        self.lin = nn.Linear(16, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        from torch_geometric.nn import global_mean_pool

        x = self.conv1(x, edge_index).relu()
        x = self.conv2(x, edge_index)
        x = global_mean_pool(x, batch)
        x = F.dropout(x, p=0.5, training=self.training)
        return self.lin(x)


@library.architecture
def graph_classifier() -> Inputs:
    """Rings of six nodes, each a graph."""
    count, size = 8, 6
    labels = torch.arange(count) % 2
    owner = torch.arange(count).repeat_interleave(size)
    nodes = torch.randn(count * size, WIDTH) + labels[owner][:, None]
    start = torch.arange(count * size)
    after = owner * size + (start % size + 1) % size
    edges = torch.cat([torch.stack([start, after]), torch.stack([after, start])], 1)
    return Inputs(Graphs(), ((nodes, edges, owner), labels), nn.CrossEntropyLoss())


def molecules() -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """Return the atoms, places and molecules, and an energy for each molecule."""
    count, size = 6, 5
    kinds = torch.randint(1, 10, (count * size,))
    owner = torch.arange(count).repeat_interleave(size)
    places = 1.5 * torch.randn(count * size, 3)
    energies = torch.zeros(count).index_add(0, owner, kinds.float()) / 20
    return (kinds, places, owner), energies[:, None]


@library.architecture
def schnet() -> Inputs:
    from torch_geometric.nn.models.schnet import SchNet

    class Plain(SchNet):  # type: ignore[misc]
        """Without torch-cluster: all pairs in a molecule are neighbours."""

    def neighbours(places: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
        pairs = (owner[:, None] == owner[None]).fill_diagonal_(False).nonzero().T
        return pairs, (places[pairs[0]] - places[pairs[1]]).norm(dim=-1)

    model = Plain(
        hidden_channels=16, num_filters=16, num_interactions=2, num_gaussians=10, cutoff=5.0,
        interaction_graph=neighbours,
    )  # fmt: skip
    return Inputs(model, molecules(), nn.L1Loss())


@library.architecture
def point_net() -> Inputs:
    """Clouds of points, as x, pos and batch; it has no neighbours."""
    from torch_geometric.nn import MLP, global_max_pool

    class PointNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.points, self.head = MLP([3, 16, 32]), MLP([32, 16, 2], norm=None)

        def forward(self, x: Tensor | None, pos: Tensor, batch: Tensor) -> Any:
            del x
            return self.head(global_max_pool(self.points(pos), batch))

    count, size = 8, 20
    labels = torch.arange(count) % 2
    owner = torch.arange(count).repeat_interleave(size)
    places = torch.randn(count * size, 3) * (1 + labels[owner][:, None])
    return Inputs(PointNet(), ((None, places, owner), labels), nn.CrossEntropyLoss())


@library.architecture
def light_gcn() -> Inputs:
    """Links between users and items: scores of edges, with labels for edges."""
    from torch_geometric.nn import LightGCN

    _, edges, _ = citations()
    asked = torch.cat([edges[:, :30], torch.randint(NODES, (2, 30))], 1)
    labels = torch.cat([torch.ones(30), torch.zeros(30)])
    batch = {"edge_index": edges, "edge_label_index": asked}
    return Inputs(LightGCN(NODES, 16, 2), (batch, labels), nn.BCEWithLogitsLoss())


@library.architecture
def attentive_fp() -> Inputs:
    """Molecules with features of their bonds."""
    from torch_geometric.nn import AttentiveFP

    count, size = 8, 6
    owner = torch.arange(count).repeat_interleave(size)
    nodes = torch.randn(count * size, WIDTH)
    start = torch.arange(count * size)
    after = owner * size + (start % size + 1) % size
    edges = torch.cat([torch.stack([start, after]), torch.stack([after, start])], 1)
    bonds = torch.randn(edges.shape[1], 4)
    model = AttentiveFP(WIDTH, 16, 1, edge_dim=4, num_layers=2, num_timesteps=2)
    targets = torch.zeros(count).index_add(0, owner, nodes[:, 0])[:, None] / size
    return Inputs(model, ((nodes, edges, bonds, owner), targets), nn.MSELoss())
