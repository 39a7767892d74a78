"""Small sound models that take their batch, or return their loss, in an unusual form."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import PackedSequence, pack_sequence

N = 8
Made = tuple[nn.Module, Any, Any]


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def perceptron(inputs: int = 4, outputs: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


LABELS = torch.arange(N) % 3


class Function(nn.Module):
    """A perceptron that a function applies."""

    def __init__(self, inputs: int = 4, outputs: int = 3) -> None:
        super().__init__()
        self.inner = perceptron(inputs, outputs)

    def net(self, values: Tensor) -> Tensor:
        out: Tensor = self.inner(values)
        return out


class Points(Function):
    """Averages points over the graphs that they belong to."""

    def forward(self, x: Tensor, pos: Tensor, batch: Tensor) -> Tensor:
        values = self.net(torch.cat([x, pos - pos.mean(0)], 1))
        empty = values.new_zeros(int(batch.max()) + 1, 3)
        return empty.index_add(0, batch, values) / batch.bincount()[:, None]


class Graphs(Function):
    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        source, target = edge_index
        around = torch.zeros_like(x).index_add(0, target, x[source])
        values = self.net(x + around)
        empty = values.new_zeros(int(batch.max()) + 1, 3)
        return empty.index_add(0, batch, values)


def graphs(count: int = 6, nodes: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    ids = torch.arange(count).repeat_interleave(nodes)
    start = torch.arange(count * nodes)
    end = ids * nodes + (start + 1) % nodes
    return numbers(count * nodes, 4), torch.stack([start, end]), ids


class Data:
    """Like the data of torch_geometric, which keeps what it holds in a store."""

    store: dict[str, Any]

    def __init__(self, **held: Any) -> None:
        object.__setattr__(self, "store", held)

    def __copy__(self) -> "Data":
        return Data(**self.store)

    def __deepcopy__(self, known: dict[int, Any]) -> "Data":
        return Data(**copy.deepcopy(self.store, known))

    @property
    def x(self) -> Any:
        return self.store.get("x")

    @property
    def edge_index(self) -> Any:
        return self.store.get("edge_index")

    @property
    def batch(self) -> Any:
        return self.store.get("batch")

    def __setattr__(self, name: str, value: Any) -> None:
        self.store[name] = value

    def to_dict(self) -> dict[str, Any]:
        return dict(self.store)


class OfData(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Graphs()

    def forward(self, data: Any) -> Tensor:
        out: Tensor = self.inner(data.x, data.edge_index, data.batch)
        return out


class Embeds(nn.Module):
    """Gives the embeddings of three inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.net = perceptron(outputs=8)

    def forward(self, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.net(a), self.net(b), self.net(c)


class Detector(Function):
    """Takes a list of images; returns its losses in training, and boxes otherwise."""

    def __init__(self) -> None:
        super().__init__(12, 4)

    def forward(self, images: list[Tensor], targets: Any = None) -> Any:
        boxes = [self.net(F.adaptive_avg_pool2d(each, 2).flatten())[None] for each in images]
        if not self.training:
            return [{"boxes": each, "labels": torch.ones(1).long()} for each in boxes]
        if targets is None:
            raise ValueError("targets should not be none in training")
        known = torch.cat([each["boxes"] for each in targets])
        return {"loss_box": F.mse_loss(torch.cat(boxes), known), "loss_size": boxes[0].var() * 0}


def images() -> list[Tensor]:
    return [numbers(3, 8 + place % 3, 8) for place in range(N)]


def boxes() -> list[dict[str, Tensor]]:
    return [{"boxes": numbers(1, 4), "labels": torch.ones(1).long()} for _ in range(N)]


class Queries(Function):
    """Takes pixels and labels by name, as detection transformers do."""

    def __init__(self) -> None:
        super().__init__(12, 4)

    def forward(self, pixel_values: Tensor, labels: Any = None) -> Any:
        found = self.net(F.adaptive_avg_pool2d(pixel_values, 2).flatten(1))
        if labels is None:
            return {"boxes": found}
        known = torch.cat([each["boxes"] for each in labels])
        return {"loss": F.mse_loss(found, known), "boxes": found}


class Diffusion(Function):
    """Returns only its loss."""

    def __init__(self) -> None:
        super().__init__(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        time = torch.rand(len(x), 1)
        noise = torch.randn_like(x)
        return F.mse_loss(self.net(torch.cat([x + time * noise, time], 1)), noise)


class OfDict(Function):
    def forward(self, x: dict[str, Tensor]) -> Tensor:
        return self.net(torch.cat([x["empty"], x["full"]], 1))


class OfList(Function):
    def __init__(self) -> None:
        super().__init__(7, 3)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        one, other = inputs
        return self.net(torch.cat([one, other], 1))


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rnn, self.head = nn.GRU(4, 16), nn.Linear(16, 3)

    def forward(self, x: PackedSequence) -> Tensor:
        out: Tensor = self.head(self.rnn(x)[1][-1])
        return out


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.bag, self.head = nn.EmbeddingBag(50, 16), nn.Linear(16, 3)

    def forward(self, text: Tensor, offsets: Tensor) -> Tensor:
        out: Tensor = self.head(self.bag(text, offsets))
        return out


@dataclass
class Output:
    sample: Tensor


class GivesDataclass(Function):
    def forward(self, x: Tensor) -> Output:
        return Output(self.net(x))


class TwoInputs(Function):
    def __init__(self) -> None:
        super().__init__(7, 3)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        return self.net(torch.cat([one, other], 1))


def info_nce(pair: tuple[Tensor, ...], _: Any = None) -> Tensor:
    one, other = (F.normalize(each) for each in pair[:2])
    return F.cross_entropy(one @ other.T / 0.5, torch.arange(len(one)))


def points() -> Made:
    x, _, ids = graphs()
    return Points(7), ((x, x[:, :3], ids), torch.arange(6) % 3), nn.CrossEntropyLoss()


def with_edges() -> Made:
    return Graphs(), (graphs(), torch.arange(6) % 3), nn.CrossEntropyLoss()


def data() -> Made:
    x, edges, ids = graphs()
    given = Data(x=x, edge_index=edges, batch=ids, y=torch.arange(6) % 3)
    return OfData(), given, nn.CrossEntropyLoss()


def spread_data() -> Made:
    return Graphs(), data()[1], nn.CrossEntropyLoss()


def triplet() -> Made:
    given = tuple(numbers(N, 4).roll(place, 0) for place in range(3))
    return Embeds(), (given, None), nn.TripletMarginLoss()


def contrastive() -> Made:
    return Embeds(), ((numbers(N, 4), numbers(N, 4) + 0.1, numbers(N, 4)), None), info_nce


def bags() -> Made:
    text = torch.arange(40) * 7 % 50
    return Bags(), ((text, torch.arange(N) * 5), LABELS), nn.CrossEntropyLoss()


def packed() -> Made:
    rows = [numbers(9 - place, 4) for place in range(N)]
    return Packed(), (pack_sequence(rows), LABELS), nn.CrossEntropyLoss()


def of_dict() -> Made:
    given = {"empty": numbers(N, 0), "full": numbers(N, 4)}
    return OfDict(), (given, LABELS), nn.CrossEntropyLoss()


def of_list() -> Made:
    return OfList(), ([numbers(N, 4), numbers(N, 3)], LABELS), nn.CrossEntropyLoss()


KINDS: dict[str, Callable[[], Made]] = {
    "points": points,
    "edges": with_edges,
    "data": data,
    "spread data": spread_data,
    "triplet": triplet,
    "contrastive": contrastive,
    "detector": lambda: (Detector(), (images(), boxes()), None),
    "labels by name": lambda: (
        Queries(),
        {"pixel_values": numbers(N, 3, 8, 8), "labels": boxes()},
        None,
    ),
    "only a loss": lambda: (Diffusion(), numbers(N, 4), None),
    "dict": of_dict,
    "list": of_list,
    "packed": packed,
    "bags": bags,
    "dataclass": lambda: (GivesDataclass(), (numbers(N, 4), LABELS), nn.CrossEntropyLoss()),
}
