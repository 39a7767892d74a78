"""Graph networks of torch_geometric for more tasks, as its examples build them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs, Net
from benchmarks.models.architecture import Library

library = Library("torch-geometric", "torch_geometric")
NODES, WIDTH, HIDDEN, CLASSES = 48, 16, 16, 4
GRAPHS, ATOMS = 12, 8


def network() -> tuple[Tensor, Tensor, Tensor]:
    """Return the features of nodes, edges mostly within a class, and the class of each node."""
    labels = torch.arange(NODES) % CLASSES
    features = 2 * torch.randn(CLASSES, WIDTH)[labels] + torch.randn(NODES, WIDTH)
    likely = torch.where(labels[:, None] == labels, 0.3, 0.03).triu(1)
    edges = (torch.rand(NODES, NODES) < likely).nonzero().T
    return features / features.std(), torch.cat([edges, edges.flip(0)], 1), labels


def graphs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return features, edges, the graph of each node, and the class of each graph."""
    labels = torch.arange(GRAPHS) % CLASSES
    batch = torch.arange(GRAPHS).repeat_interleave(ATOMS)
    features = torch.randn(CLASSES, WIDTH)[labels][batch] + torch.randn(len(batch), WIDTH)
    ring = torch.arange(len(batch))
    following = batch * ATOMS + (ring + 1) % ATOMS
    edges = torch.stack([ring, following])
    return features, torch.cat([edges, edges.flip(0)], 1), batch, labels


def classifies_nodes(model: nn.Module) -> Inputs:
    return Inputs(model, network(), nn.CrossEntropyLoss())


def stacked(first: nn.Module, second: nn.Module, dropout: float = 0.5) -> nn.Module:
    """Return two layers of a graph network as the examples stack them."""

    def run(net: Any, x: Tensor, edge_index: Tensor) -> Any:
        x = F.dropout(x, dropout, net.training)
        x = F.elu(net.first(x, edge_index))
        x = F.dropout(x, dropout, net.training)
        return net.second(x, edge_index)

    return Net(run, first=first, second=second)


@library.architecture
def gcn2() -> Inputs:
    from torch_geometric.nn import GCN2Conv

    def run(net: Any, x: Tensor, edge_index: Tensor) -> Any:
        first = x = net.begin(F.dropout(x, 0.5, net.training)).relu()
        for conv in net.convs:
            x = conv(F.dropout(x, 0.5, net.training), first, edge_index).relu()
        return net.end(F.dropout(x, 0.5, net.training)).log_softmax(-1)

    layers = [GCN2Conv(HIDDEN, 0.1, 0.5, layer=each + 1) for each in range(4)]
    begin, end = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, CLASSES)
    model = Net(run, begin=begin, convs=nn.ModuleList(layers), end=end)
    return Inputs(model, network(), F.nll_loss)


@library.architecture
def appnp() -> Inputs:
    from torch_geometric.nn import APPNP

    def run(net: Any, x: Tensor, edge_index: Tensor) -> Any:
        x = net.lin1(F.dropout(x, 0.5, net.training)).relu()
        x = net.lin2(F.dropout(x, 0.5, net.training))
        return net.spread(x, edge_index)

    first, second = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, CLASSES)
    return classifies_nodes(Net(run, lin1=first, lin2=second, spread=APPNP(10, 0.1)))


@library.architecture
def relational_gcn() -> Inputs:
    from torch_geometric.nn import RGCNConv

    def run(net: Any, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> Any:
        x = net.first(x, edge_index, edge_type).relu()
        return F.log_softmax(net.second(x, edge_index, edge_type), dim=1)

    first = RGCNConv(WIDTH, HIDDEN, 3, num_bases=2)
    second = RGCNConv(HIDDEN, CLASSES, 3, num_bases=2)
    x, edges, y = network()
    kinds = torch.randint(3, (edges.shape[1],))
    return Inputs(Net(run, first=first, second=second), (x, edges, kinds, y), F.nll_loss)


@library.architecture
def set_to_set() -> Inputs:
    from torch_geometric.nn import GraphConv, Set2Set

    def run(net: Any, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        x = net.conv(x, edge_index).relu()
        return net.last(net.pool(x, batch))

    last = nn.Sequential(nn.Linear(2 * HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    model = Net(run, conv=GraphConv(WIDTH, HIDDEN), pool=Set2Set(HIDDEN, 3), last=last)
    return Inputs(model, graphs(), nn.CrossEntropyLoss())


@library.architecture
def top_k_pooling() -> Inputs:
    from torch_geometric.nn import GraphConv, TopKPooling, global_max_pool, global_mean_pool

    def run(net: Any, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        read = []
        for conv, pool in zip(net.convs, net.pools, strict=True):
            x, edge_index, _, batch, _, _ = pool(
                conv(x, edge_index).relu(), edge_index, None, batch
            )
            read.append(torch.cat([global_max_pool(x, batch), global_mean_pool(x, batch)], 1))
        return net.last(sum(read))

    convs = nn.ModuleList([GraphConv(WIDTH, HIDDEN), GraphConv(HIDDEN, HIDDEN)])
    pools = nn.ModuleList([TopKPooling(HIDDEN, 0.8), TopKPooling(HIDDEN, 0.8)])
    model = Net(run, convs=convs, pools=pools, last=nn.Linear(2 * HIDDEN, CLASSES))
    return Inputs(model, graphs(), nn.CrossEntropyLoss())


@library.architecture
def gps_transformer() -> Inputs:
    from torch_geometric.nn import GINEConv, GPSConv, global_add_pool

    def run(net: Any, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Any:
        x, bonds = net.nodes(x), net.bonds(edge_attr)
        for conv in net.convs:
            x = conv(x, edge_index, batch, edge_attr=bonds)
        return net.last(global_add_pool(x, batch)).squeeze(-1)

    def layer() -> nn.Module:
        inner = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN))
        return GPSConv(HIDDEN, GINEConv(inner), heads=4)

    layers = nn.ModuleList([layer(), layer()])
    nodes, bonds = nn.Embedding(10, HIDDEN), nn.Embedding(4, HIDDEN)
    last = nn.Sequential(nn.Linear(HIDDEN, 8), nn.ReLU(), nn.Linear(8, 1))
    model = Net(run, nodes=nodes, bonds=bonds, convs=layers, last=last)
    _, edges, batch, _ = graphs()
    atoms, kinds = torch.randint(10, batch.shape), torch.randint(4, edges.shape[1:])
    sizes = torch.zeros(GRAPHS).index_add(0, batch, atoms.float())
    return Inputs(model, (atoms, edges, kinds, batch, (sizes - 36) / 8), nn.L1Loss())


@library.architecture
def message_passing_regression() -> Inputs:
    from torch_geometric.nn import NNConv, global_add_pool

    def run(net: Any, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Any:
        out = net.begin(x).relu()
        hidden = out.unsqueeze(0)
        for _ in range(3):
            message = net.conv(out, edge_index, edge_attr).relu()
            out, hidden = net.gru(message.unsqueeze(0), hidden)
            out = out.squeeze(0)
        return net.last(global_add_pool(out, batch) / ATOMS).view(-1)

    weights = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, HIDDEN * HIDDEN))
    conv, gru = NNConv(HIDDEN, HIDDEN, weights, aggr="mean"), nn.GRU(HIDDEN, HIDDEN)
    begin, last = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, 1)
    x, edges, batch, labels = graphs()
    bonds = torch.randn(edges.shape[1], 5)
    model = Net(run, begin=begin, conv=conv, gru=gru, last=last)
    return Inputs(model, (x, edges, bonds, batch, labels.float() - 1.5), F.mse_loss)


@library.architecture
def graph_autoencoder() -> Inputs:
    from torch_geometric.nn import GAE, GCNConv

    model = GAE(stacked(GCNConv(WIDTH, HIDDEN), GCNConv(HIDDEN, 8), 0.0))
    x, edges, _ = network()
    return Inputs(model, (x, edges, edges), model.recon_loss)


@library.architecture
def link_prediction() -> Inputs:
    from torch_geometric.nn import GCNConv

    def run(net: Any, x: Tensor, edge_index: Tensor, edge_label_index: Tensor) -> Any:
        z = net.second(net.first(x, edge_index).relu(), edge_index)
        return (z[edge_label_index[0]] * z[edge_label_index[1]]).sum(-1)

    x, edges, _ = network()
    pairs = torch.cat([edges, torch.randint(NODES, edges.shape)], 1)
    labels = (torch.arange(pairs.shape[1]) < edges.shape[1]).float()
    model = Net(run, first=GCNConv(WIDTH, HIDDEN), second=GCNConv(HIDDEN, HIDDEN))
    return Inputs(model, (x, edges, pairs, labels), nn.BCEWithLogitsLoss())
