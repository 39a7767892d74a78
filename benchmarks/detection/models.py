"""Build small models of every common kind from a description."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from benchmarks.detection.data_sets import Data
from benchmarks.detection.model_blocks import (
    ACTIVATIONS,
    Divide,
    Functional,
    Inline,
    Net,
    Recurrent,
    Residual,
    Spare,
    Transformer,
)

LECUN = ("selu", "tanh", "sigmoid", "none", "hardtanh", "softplus")  # other activations need He's


class Bag(nn.Module):
    """Layers on top of the mean word vector, without padding."""

    def __init__(self, net: Net, data: Data, outputs: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(data.vocabulary, net.width, padding_idx=0)
        self.body = nn.Sequential(*dense(net, net.width, outputs))

    def forward(self, x: Tensor) -> Tensor:
        known = (x != 0).unsqueeze(-1)
        mean = (self.embedding(x) * known).sum(1) / known.sum(1).clamp(min=1)
        logits: Tensor = self.body(mean)
        return logits


def norm_of(kind: str, width: int) -> list[nn.Module]:
    made: dict[str, Callable[[], nn.Module]] = {
        "batch": lambda: nn.BatchNorm1d(width),
        "batch2": lambda: nn.BatchNorm2d(width),
        "layer": lambda: nn.LayerNorm(width),
        "group": lambda: nn.GroupNorm(4, width),
        "group2": lambda: nn.GroupNorm(4, width),
        "layer2": lambda: nn.GroupNorm(1, width),
    }
    return [made[kind]()] if kind and kind != "2" else []


def hidden(net: Net, layer: nn.Module, width: int, suffix: str = "") -> list[nn.Module]:
    drop = [nn.Dropout(net.dropout)] if net.dropout else []
    if net.inline:
        return [Inline(layer, net.activation), *drop]
    return [layer, *norm_of(net.norm + suffix, width), ACTIVATIONS[net.activation](), *drop]


def dense(net: Net, inputs: int, outputs: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for index in range(net.depth):
        layer = nn.Linear(net.width if index else inputs, net.width)
        parts = hidden(net, layer, net.width)
        layers += [Residual(*parts)] if net.kind == "res" and index else parts
    return [*layers, nn.Linear(net.width if net.depth else inputs, outputs)]


def convolutions(net: Net, data: Data, outputs: int) -> list[nn.Module]:
    """Return convolutions with two poolings, and a linear layer."""
    channels, side = data.x.shape[1], data.x.shape[2]
    stride = 1 if side < 16 else 2
    layers: list[nn.Module] = []
    for index in range(net.depth):
        layer = nn.Conv2d(
            net.width if index else channels, net.width, 3, 1 if index else stride, padding=1
        )
        parts = hidden(net, layer, net.width, "2")
        layers += [Residual(*parts)] if net.kind == "res" and index else parts
        if index == 0 or index == net.depth // 2:
            layers.append(nn.MaxPool2d(2))
    side = side // stride // (4 if net.depth > 1 else 2)
    return [*layers, nn.Flatten(), nn.Linear(net.width * side * side, outputs)]


def autoencoder(net: Net, inputs: int, outputs: int) -> list[nn.Module]:
    """Return an encoder, a bottleneck and a decoder."""
    widths = [max(net.width // 2**index, 12) for index in range(net.depth)]
    layers: list[nn.Module] = []
    for wide, narrow in zip([inputs, *widths], widths, strict=False):
        layers += hidden(net, nn.Linear(wide, narrow), narrow)
    for narrow, wide in zip(widths[::-1], [*widths[-2::-1], outputs], strict=True):
        layers += hidden(net, nn.Linear(narrow, wide), wide)
    last = max(index for index, layer in enumerate(layers) if isinstance(layer, nn.Linear))
    return layers[: last + 1]


def build(net: Net, data: Data, outputs: int) -> nn.Module:
    """Build the model of a description for a data set."""
    if net.kind in ("rnn", "lstm", "gru"):
        body: nn.Module = Recurrent(net, data, outputs)
    elif net.kind == "transformer":
        body = Transformer(net, data, outputs)
    elif net.kind == "bag":
        body = Bag(net, data, outputs)
    else:
        flat = [] if data.x.dim() == 2 else [nn.Flatten()]
        inputs = data.x[0].numel()
        if net.kind == "cnn" or (net.kind == "res" and data.form == "image"):
            layers = convolutions(net, data, outputs)
        elif net.kind == "auto":
            layers = [*flat, *autoencoder(net, inputs, outputs)]
        else:
            layers = [*flat, *dense(net, inputs, outputs)]
        first: list[nn.Module] = [Divide(net.scale)] if net.scale != 1 else []
        first += [nn.BatchNorm1d(inputs)] if net.first_norm else []
        body = nn.Sequential(*first, *layers)
    start(body, net)
    body = Spare(body) if net.spare else body
    if net.output == "none":
        return body
    if net.function:
        return Functional(body, net.output)
    return nn.Sequential(body, ACTIVATIONS[net.output]())


def start(model: nn.Module, net: Net) -> None:
    """Set the initial weights. The last layer keeps torch's default."""
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    for layer in layers[:-1]:
        fan = layer.weight[0].numel()
        if net.init == "right":
            nn.init.normal_(
                layer.weight, std=(1 if net.activation in LECUN else 2) ** 0.5 / fan**0.5
            )
            set_bias(layer, 0.0)
        elif net.init == "normal":
            nn.init.normal_(layer.weight)
        layer.weight.data.mul_(net.gain)
        if net.bias is not None:
            set_bias(layer, net.bias)
    for core in (m for m in model.modules() if isinstance(m, nn.RNNBase)):
        for name, weight in core.named_parameters():
            if net.init == "right" and "weight_hh" in name and net.kind == "rnn":
                nn.init.orthogonal_(weight)
            if "weight" in name:
                weight.data.mul_(net.gain)
            elif net.bias is not None and "bias_ih" in name:
                nn.init.constant_(weight, net.bias)


def set_bias(layer: nn.Linear | nn.Conv2d, value: float) -> None:
    if layer.bias is not None:
        nn.init.constant_(layer.bias, value)
