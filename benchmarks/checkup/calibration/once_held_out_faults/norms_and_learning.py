"""Norms that do not normalise, bad initial losses, and models that cannot learn."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
NORMS, CHANCE, OVERFITS = "normalisation_normalises", "starts_at_chance", "overfits_one_batch"
RATE = "learning_rate_is_sane"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.fault(NORMS, "cnn, a momentum of 1 that forgets all but one batch")
def _() -> Inputs:
    model = cnn()
    for place in (1, 5):
        model[place].momentum = 1.0  # type: ignore[assignment]
    return Inputs(model, data.images(), CE)


class OwnNorm(nn.Module):
    """A correct norm. Subclasses override one part."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def scaled(self, x: Tensor) -> Tensor:
        spread = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        return (x - x.mean(-1, keepdim=True)) / spread

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(x) * self.weight + self.bias


class SampleNorm(OwnNorm):
    def scaled(self, x: Tensor) -> Tensor:
        return (x - x.mean(0)) / (x.var(0, unbiased=False) + 1e-5).sqrt()


class MeanNorm(OwnNorm):
    def scaled(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True)


class VarianceNorm(OwnNorm):
    def scaled(self, x: Tensor) -> Tensor:
        spread = x.var(-1, unbiased=False, keepdim=True) + 1e-5
        return (x - x.mean(-1, keepdim=True)) / spread


@cases.fault(NORMS, "mlp, an own layer norm goes over the samples")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), SampleNorm(32), nn.ReLU(), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.fault(NORMS, "transformer, an own norm takes only the mean off")
def _() -> Inputs:
    model = Encoder()
    for block in model.blocks:
        block.norm1, block.norm2 = MeanNorm(32), MeanNorm(32)
    return Inputs(model, data.text(), CE)


@cases.fault(NORMS, "autoencoder, an own norm divides by the variance")
def _() -> Inputs:
    model = Autoencoder()
    model.encoder = nn.Sequential(nn.Linear(8, 32), VarianceNorm(32), nn.ReLU(), nn.Linear(32, 4))
    rows = data.table()[0]
    return Inputs(model, (rows, rows), MSE)


@cases.fault(CHANCE, "cnn, logits divided by a temperature of 0.001")
def _() -> Inputs:
    return Inputs(Net(lambda net, x: net.body(x) / 0.001, body=cnn()), data.images(), CE)


@cases.fault(CHANCE, "rnn, a prior of one in a billion for two of three classes")
def _() -> Inputs:
    model = RNN()
    with torch.no_grad():
        model.head.bias.copy_(torch.tensor([1e-9, 1e-9, 1.0]).log())
    return Inputs(model, data.series(), CE)


@cases.fault(CHANCE, "mlp, outputs in euros, targets in millions")
def _() -> Inputs:
    model = Net(lambda net, x: 1e6 * net.body(x), body=mlp(outputs=1))
    return Inputs(model, data.curve(), MSE)


@cases.fault(CHANCE, "transformer, exp of a scale that is no logarithm")
def _() -> Inputs:
    class Scaled(Decoder):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(1 / 0.07))

        def forward(self, tokens: Tensor) -> Any:
            return super().forward(tokens) * self.scale.exp()

    return Inputs(Scaled(), data.language(), data.next_token)


@cases.fault(OVERFITS, "mlp, a penalty outweighs the loss")
def _() -> Inputs:
    def judged(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets) + 100 * outputs.square().mean()

    return Inputs(mlp(outputs=1), data.curve(), judged)


@cases.fault(OVERFITS, "cnn, labels are shuffled and images are not")
def _() -> Inputs:
    def judged(outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels[torch.randperm(len(labels))])

    return Inputs(cnn(), data.images(), judged)


@cases.fault(OVERFITS, "transformer, gradients are turned round")
def _() -> Inputs:
    class Reversed(Encoder):
        def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Any:
            outputs = super().forward(tokens, attention_mask)
            if outputs.requires_grad:
                outputs.register_hook(lambda gradient: -gradient)
            return outputs

    return Inputs(Reversed(), data.text(), CE)


@cases.fault(RATE, "rnn, RMSprop at 5")
def _() -> Inputs:
    model = RNN()
    return Inputs(model, data.series(), CE, torch.optim.RMSprop(model.parameters(), lr=5.0))


@cases.fault(RATE, "transformer, 3e4 where 3e-4 is meant")
def _() -> Inputs:
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e4)
    return Inputs(model, data.language(), data.next_token, optimizer)


@cases.fault(RATE, "autoencoder, Adam at 1e-9")
def _() -> Inputs:
    model = Autoencoder()
    rows = data.table()[0]
    return Inputs(model, (rows, rows), MSE, torch.optim.Adam(model.parameters(), lr=1e-9))
