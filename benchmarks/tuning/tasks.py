"""The tasks: their data, and the model, loss and optimizer of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.tuning.search_spaces import Config
from benchmarks.tuning.uneven_attention import DecoderLayer, EncoderLayer

Layer: TypeAlias = Callable[[Config], nn.Module]
PAST, KNOWN, AHEAD = 96, 48, 96  # days seen, those repeated for the decoder, and days to predict
APART = 10  # days between two windows


@dataclass(frozen=True)
class Data:
    """Training and validation data, on one device."""

    x: Tensor
    y: Tensor
    x_val: Tensor
    y_val: Tensor

    def to(self, device: str) -> Data:
        return Data(*(each.to(device) for each in vars(self).values()))


@dataclass(frozen=True)
class Task:
    """A task of the benchmark, with the metric of its search."""

    load: Callable[[Path], Data]
    build: Callable[[Config], nn.Module]
    loss: Callable[[Tensor, Tensor], Tensor]
    metric: str
    maximize: bool

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        return "maximize" if self.maximize else "minimize"


class Cnn(nn.Module):
    """Four convolutions and three linear layers."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        activation = getattr(nn, config["activation"])
        channels = 3
        layers: list[nn.Module] = []
        for place in (1, 2, 3, 4):
            wide = config[f"conv{place}"]
            layers.append(nn.Conv2d(channels, wide, config["kernel"], padding="same"))
            if config["batch_norm"]:
                layers.append(nn.BatchNorm2d(wide))
            layers += [activation()] + [nn.MaxPool2d(2)] * (place > 1)
            channels = wide
        width, drop = config["width"], config["dropout"]
        layers += [nn.Flatten(), nn.Linear(channels * 16, width), activation(), nn.Dropout(drop)]
        layers += [nn.Linear(width, width), activation(), nn.Dropout(drop), nn.Linear(width, 10)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layers(x)
        return outputs


class Lstm(nn.Module):
    """Reads an image row by row."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        hidden, layers, drop = config["hidden"], config["layers"], config["dropout"]
        between = drop if layers > 1 else 0.0
        self.lstm = nn.LSTM(96, hidden, layers, batch_first=True, dropout=between)
        self.norm = nn.BatchNorm1d(hidden) if config["batch_norm"] else nn.Identity()
        self.drop = nn.Dropout(drop)
        self.head = nn.Linear(hidden, 10)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.permute(0, 2, 3, 1).flatten(2)
        outputs: Tensor = self.head(self.drop(self.norm(self.lstm(rows)[0][:, -1])))
        return outputs


class Forecaster(nn.Module):
    """A transformer that predicts the days ahead from the days before."""

    def __init__(self, config: Config, encoder: Layer, decoder: Layer) -> None:
        super().__init__()
        width = config["model_width"]
        self.embed_past, self.embed_ahead = nn.Linear(8, width), nn.Linear(8, width)
        self.encoder = nn.ModuleList(encoder(config) for _ in range(config["encoder_layers"]))
        self.decoder = nn.ModuleList(decoder(config) for _ in range(config["decoder_layers"]))
        self.head = nn.Linear(width, 8)
        self.times: Tensor
        self.register_buffer("times", times(max(PAST, KNOWN + AHEAD), width), persistent=False)

    def forward(self, past: Tensor) -> Tensor:
        memory = self.embed_past(past) + self.times[:PAST]
        for layer in self.encoder:
            memory = layer(memory)
        blank = past.new_zeros(len(past), AHEAD, 8)
        x = self.embed_ahead(torch.cat([past[:, -KNOWN:], blank], 1)) + self.times[: KNOWN + AHEAD]
        for layer in self.decoder:
            x = layer(x, memory)
        ahead: Tensor = self.head(x[:, -AHEAD:])
        return ahead


def of_torch(kind: Callable[..., nn.Module], config: Config) -> nn.Module:
    """Return a transformer layer of torch."""
    sizes = (config[name] for name in ("model_width", "heads", "inner_width", "dropout"))
    return kind(*sizes, activation="gelu", batch_first=True)


def times(length: int, width: int) -> Tensor:
    """Return the sinusoidal position encoding."""
    place = torch.arange(length).unsqueeze(1)
    rates = torch.exp(torch.arange(0, width, 2) * (-np.log(10000.0) / width))
    return torch.stack([torch.sin(place * rates), torch.cos(place * rates)], 2).flatten(1)


def pictures(folder: Path) -> Data:
    """Return CIFAR-10: 6,000 training and 2,000 validation images."""
    with np.load(folder / "cifar10_8k.npz") as file:
        parts = [file[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    mean, deviation = torch.tensor([0.49, 0.48, 0.45]), torch.tensor([0.25, 0.24, 0.26])
    x, x_val = (
        ((torch.from_numpy(each) / 255 - mean) / deviation).permute(0, 3, 1, 2).contiguous()
        for each in parts[::2]
    )
    y, y_val = (torch.from_numpy(each.astype(np.int64)) for each in parts[1::2])
    return Data(x, y, x_val, y_val)


def rates(folder: Path) -> Data:
    """Return windows of exchange rates: the first 70 % of the days for training, then 15 %."""
    days = np.loadtxt(folder / "exchange_rate.csv", delimiter=",", skiprows=1)
    first, second = int(0.7 * len(days)), int(0.85 * len(days))
    days = (days - days[:first].mean(0)) / days[:first].std(0)
    series = torch.from_numpy(days.astype(np.float32))
    return Data(*windows(series[:first]), *windows(series[first - PAST : second]))


def windows(series: Tensor) -> tuple[Tensor, Tensor]:
    starts = range(0, len(series) - PAST - AHEAD + 1, APART)
    past = torch.stack([series[start : start + PAST] for start in starts])
    ahead = torch.stack([series[start + PAST : start + PAST + AHEAD] for start in starts])
    return past, ahead


def optimizer_of(config: Config, model: nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer of a configuration, by default Adam."""
    kind = getattr(torch.optim, config.get("optimizer", "Adam"))
    optimizer: torch.optim.Optimizer = kind(
        model.parameters(), lr=config["learning_rate"], weight_decay=config.get("weight_decay", 0.0)
    )
    return optimizer


cross_entropy = nn.functional.cross_entropy
_classify = partial(Task, load=pictures, loss=cross_entropy, metric="val_accuracy", maximize=True)
_forecast = partial(
    Task, load=rates, loss=nn.functional.mse_loss, metric="val_loss", maximize=False
)
TASKS: Mapping[str, Task] = {
    "cifar10_cnn": _classify(build=Cnn),
    "cifar10_lstm": _classify(build=Lstm),
    "ex96_trans": _forecast(
        build=partial(
            Forecaster,
            encoder=partial(of_torch, nn.TransformerEncoderLayer),
            decoder=partial(of_torch, nn.TransformerDecoderLayer),
        )
    ),
    "ex96_paper": _forecast(build=partial(Forecaster, encoder=EncoderLayer, decoder=DecoderLayer)),
}
RECORDED = ("cifar10_cnn", "cifar10_lstm", "ex96_trans")  # the tasks that have a pool
