"""Small models and loops that the tests train."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

import sickbay


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.lstm = nn.LSTM(8, 16, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.lstm(self.embed(x))
        out: Tensor = self.head(states[:, -1])
        return out


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(self.embed(x)).mean(1))
        return out


def mlp(depth: int = 3, width: int = 8, activation: Callable[[], nn.Module] = nn.ReLU) -> nn.Module:
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), activation()]
    return nn.Sequential(*layers, nn.Linear(width, 4))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Dropout(0.3),
        nn.Conv2d(8, 8, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


def compiled(model: nn.Module, **options: Any) -> nn.Module:
    """Compile a model anew, whatever was compiled before."""
    torch._dynamo.reset()
    return cast(nn.Module, torch.compile(model, **{"backend": "aot_eager", **options}))


def features(count: int = 6) -> Tensor:
    return torch.randn(count, 8)


def images(count: int = 6) -> Tensor:
    return torch.randn(count, 3, 10, 10)


def tokens(count: int = 6) -> Tensor:
    return torch.randint(0, 11, (count, 7))


FAMILIES: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "mlp": (mlp, features),
    "cnn": (cnn, images),
    "lstm": (Lstm, tokens),
    "transformer": (Transformer, tokens),
}


@dataclass
class Run:
    """What a run leaves behind, to be compared bit for bit."""

    losses: list[float]
    state: dict[str, Tensor]
    torch_random: Tensor
    numpy_random: float
    python_random: float
    model: nn.Module
    doctor: sickbay.Doctor | None

    def same_as(self, other: "Run") -> bool:
        return (
            self.losses == other.losses
            and self.state.keys() == other.state.keys()
            and all(torch.equal(value, other.state[name]) for name, value in self.state.items())
            and torch.equal(self.torch_random, other.torch_random)
            and self.numpy_random == other.numpy_random
            and self.python_random == other.python_random
        )


def train(
    family: str,
    watch: Callable[[nn.Module, torch.optim.Optimizer], sickbay.Doctor] | None = None,
    *,
    steps: int = 12,
    prepare: Callable[[nn.Module], nn.Module] = lambda model: model,
) -> Run:
    """Train a small model from a fixed seed, watched or not."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    make, batch = FAMILIES[family]
    model = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    doctor = watch(model, optimizer) if watch else None
    run = prepare(model)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(run(batch()), torch.randint(0, 4, (6,)))
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
        if doctor:
            doctor.step(loss, accuracy=0.25)
            if step % 5 == 4:
                doctor.epoch(val_loss=loss.item())
    return Run(
        losses,
        {name: value.clone() for name, value in model.state_dict().items()},
        torch.get_rng_state(),
        float(np.random.rand()),
        random.random(),
        model,
        doctor,
    )
