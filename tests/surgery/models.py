"""Small models of every kind that surgery must handle."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.overhead.workloads import GPT
from sickbay.surgery.edit_activations import ActivationEditor


class Plain(nn.Module):
    """Activations as functions, written in three ways; and a dropout that follows the mode."""

    def __init__(
        self,
        function: Callable[[Tensor], Tensor] = torch.sigmoid,
        drop: float = 0.0,
        out: Callable[[Tensor], Tensor] = lambda x: x,
    ) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 8)
        self.unused, self.last = nn.Linear(2, 2), nn.Linear(8, 3)
        self.function, self.drop, self.out = function, drop, out

    def forward(self, x: Tensor) -> Tensor:
        x = self.function(self.first(x))
        x = F.dropout(x, self.drop, self.training)
        return self.out(self.last(self.function(self.second(x))))


class InPlace(nn.Module):
    """The second activation is a statement: its result is only seen under the old name."""

    def __init__(self, replaced: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 8)
        self.last, self.replaced = nn.Linear(8, 3), replaced

    def forward(self, x: Tensor) -> Tensor:
        x, done = self.first(x), torch.tanh if self.replaced else F.relu
        x = done(x)
        y = self.second(x)
        if self.replaced:
            y = torch.tanh(y)
        else:
            F.relu(y, inplace=True)
        out: Tensor = self.last(y + x)
        return out


class Shared(nn.Module):
    """One ReLU for all, at the output too if asked for."""

    def __init__(self, at_the_end: bool = False, sizes: tuple[int, int] = (8, 8)) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, sizes[0]), nn.Linear(sizes[0], sizes[1])
        self.last, self.act, self.at_the_end = nn.Linear(sizes[1], 3), nn.ReLU(), at_the_end

    def forward(self, x: Tensor) -> Tensor:
        x = self.last(self.act(self.second(self.act(self.first(x)))))
        return self.act(x) if self.at_the_end else x


class Basic(nn.Module):
    """A residual block as in torchvision: one ReLU, first behind a norm, then behind the sum."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        done: Tensor = self.relu(out)
        return done


class Squeeze(nn.Module):
    """Channels are weighted by a gate."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.down, self.up = nn.Linear(channels, 2), nn.Linear(2, channels)
        self.gate = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        weights = self.gate(self.up(F.relu(self.down(x.mean((2, 3))))))
        out: Tensor = x * weights.view(x.size(0), -1, 1, 1)
        return out


class Gated(nn.Module):
    """SwiGLU, and a sigmoid that is scaled by a parameter and masked, which is no gate."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.gate, self.last = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 3)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        mixed = F.silu(self.gate(x)) * self.value(x)
        mask = (x[:, :1] > 0).float()
        out: Tensor = self.last(torch.sigmoid(mixed) * self.scale * mask)
        return out


class Unet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(4, 4, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = F.relu(self.down(x))
        deep = torch.relu(self.deep(F.max_pool2d(kept, 2)))
        out: Tensor = self.last(torch.cat([kept, self.up(deep).relu()], 1))
        return out


class Lstm(nn.Module):
    def __init__(self, layers: int = 1) -> None:
        super().__init__()
        self.embed, self.core = nn.Embedding(9, 6), nn.LSTM(6, 8, layers, batch_first=True)
        self.mid, self.act, self.head = nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.core(self.embed(x))
        out: Tensor = self.head(self.act(self.mid(states)))
        return out


class Encoder(nn.Module):
    def __init__(self, activation: Any = "relu", mask: bool = False) -> None:
        super().__init__()
        self.embed, self.mask = nn.Embedding(9, 8), mask
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, activation, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        padding = x == 0 if self.mask else None
        out: Tensor = self.head(self.body(self.embed(x), src_key_padding_mask=padding).mean(1))
        return out


class Optional(nn.Module):
    """An argument that may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor, mask: Tensor | None = None, twice: bool = False) -> Tensor:
        x = torch.tanh(self.first(x))
        if mask is not None:
            x = x * mask
        out: Tensor = self.last(x)
        return 2 * out if twice else out


class Twofold(nn.Module):
    """Puts out two things."""

    def __init__(self, form: Callable[[Tensor, Tensor], Any] = lambda a, b: (a, b)) -> None:
        super().__init__()
        self.first, self.last, self.form = nn.Linear(6, 8), nn.Linear(8, 3), form

    def forward(self, x: Tensor) -> Any:
        features = torch.sigmoid(self.first(x))
        return self.form(torch.sigmoid(self.last(features)), features.mean())


class Branching(nn.Module):
    """What it does depends on the values that come in."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.first(x))
        if x.sum() > 100:
            x = -x
        out: Tensor = self.last(x)
        return out


class Noting(nn.Module):
    """Keeps what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last, self.seen = nn.Linear(6, 8), nn.Linear(8, 3), torch.zeros(1)

    def forward(self, x: Tensor) -> Tensor:
        self.seen = torch.tanh(self.first(x))
        out: Tensor = self.last(self.seen)
        return out


def mlp(activation: Callable[[], nn.Module] = nn.Sigmoid, *end: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 8),
        activation(),
        nn.Sequential(nn.Linear(8, 8), activation()),
        nn.Linear(8, 3),
        *end,
    )


def conv(dims: int) -> nn.Module:
    kind: Any = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[dims]
    return nn.Sequential(
        kind(3, 4, 3, padding=1), nn.ReLU(), kind(4, 5, 3), nn.ReLU(), nn.Flatten(),
        nn.LazyLinear(3),
    )  # fmt: skip


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), Basic(4), Squeeze(4),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip


def vectors(count: int = 5) -> tuple[Any, ...]:
    return (torch.randn(count, 6),)


def images(count: int = 5) -> tuple[Any, ...]:
    return (torch.randn(count, 3, 6, 6),)


def tokens(count: int = 5) -> tuple[Any, ...]:
    return (torch.randint(0, 9, (count, 7)),)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "mlp": (mlp, vectors),
    "plain": (lambda: Plain(drop=0.3, out=torch.tanh), vectors),
    "in-place": (InPlace, vectors),
    "shared": (Shared, vectors),
    "shared-end": (lambda: Shared(at_the_end=True), vectors),
    "cnn": (cnn, images),
    "unet": (Unet, images),
    "gated": (Gated, vectors),
    "lstm": (Lstm, tokens),
    "encoder": (Encoder, tokens),
    "gpt": (lambda: GPT(9, 7, 8, 2), tokens),
    "optional": (Optional, vectors),
    "twofold": (lambda: Twofold(_pair), vectors),
}


def _pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a, b


def outputs(model: nn.Module, example: tuple[Any, ...], *, training: bool = False) -> Tensor:
    """Return what a model puts out, with the same random draws each time."""
    torch.manual_seed(3)
    out = model.train(training)(*example)
    return out if isinstance(out, Tensor) else out[0]


def same(model: nn.Module, twin: nn.Module, example: tuple[Any, ...]) -> bool:
    """Return whether a model does what its twin does when it gets the same weights."""
    twin.load_state_dict(model.state_dict())
    model, twin = copy.deepcopy(model), copy.deepcopy(twin)
    return all(
        torch.allclose(
            outputs(model, example, training=training), outputs(twin, example, training=training)
        )
        for training in (False, True)
    )


def hidden_activations(model: nn.Module, example: tuple[Any, ...]) -> dict[str, str]:
    """Return the class or function of each hidden activation, by name."""
    return {each.name: each.kind for each, _ in ActivationEditor(model, example).hidden()}
