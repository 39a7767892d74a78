"""Models of the kinds in the paper: fully connected, convolutional and recurrent ones."""

from __future__ import annotations

from torch import Tensor, nn

from benchmarks.detection.data_sets import Data
from benchmarks.detection.model_blocks import ACTIVATIONS, Net
from benchmarks.detection.models import dense, hidden, start

CHANNELS = 8


class TextModel(nn.Module):
    """An embedding, two recurrent layers, and fully connected ones on the mean state."""

    def __init__(self, net: Net, data: Data, outputs: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(data.vocabulary, net.width, padding_idx=0)
        make = {"rnn": nn.RNN, "lstm": nn.LSTM}[net.kind]
        self.core = make(net.width, net.width, 2, batch_first=True)
        self.body = nn.Sequential(*dense(net, net.width, outputs))

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.core(self.embedding(x))
        logits: Tensor = self.body(states.mean(1))
        return logits


def convolutional(net: Net, data: Data, outputs: int) -> list[nn.Module]:
    """Return two convolutions with poolings, and fully connected layers."""
    channels, side = data.x.shape[1:3]
    first = nn.Conv2d(channels, CHANNELS, 3, stride=2, padding=1)
    second = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
    layers = [*hidden(net, first, CHANNELS, "2"), nn.MaxPool2d(2)]
    layers += [*hidden(net, second, CHANNELS, "2"), nn.MaxPool2d(2)]
    inputs = CHANNELS * (side // 8) ** 2
    return [*layers, nn.Flatten(), *dense(net, inputs, outputs)]


def build(net: Net, data: Data, outputs: int) -> nn.Module:
    """Build the model of a description for a data set."""
    if net.kind in ("rnn", "lstm"):
        body: nn.Module = TextModel(net, data, outputs)
    elif net.kind == "cnn":
        body = nn.Sequential(*convolutional(net, data, outputs))
    else:
        flat = [] if data.x.dim() == 2 else [nn.Flatten()]
        body = nn.Sequential(*flat, *dense(net, data.x[0].numel(), outputs))
    start(body, net)
    return body if net.output == "none" else nn.Sequential(body, ACTIVATIONS[net.output]())
