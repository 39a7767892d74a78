"""Outputs that do not fit the loss or the targets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
LOSS, FITS, SANE = "output_fits_the_loss", "output_fits_the_targets", "targets_are_sane"
BALANCED = "classes_are_balanced"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def then(model: nn.Module, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(model, *last)


cases.add(
    LOSS,
    "mlp, softmax before cross-entropy",
    lambda: Inputs(then(mlp(), nn.Softmax(-1)), data.table(), CE),
)


@cases.fault(LOSS, "mlp, sigmoid before a loss of logits")
def _() -> Inputs:
    model = then(mlp(outputs=1), nn.Sigmoid())
    return Inputs(model, data.answers(), nn.BCEWithLogitsLoss())


@cases.fault(LOSS, "cnn, logits into a loss of probabilities")
def _() -> Inputs:
    images, labels = data.images(classes=2)
    return Inputs(cnn(outputs=1), (images, labels[:, None].float()), nn.BCELoss())


cases.add(LOSS, "rnn, logits into nll", lambda: Inputs(RNN(), data.series(), nn.NLLLoss()))


@cases.fault(LOSS, "transformer, softmax in the forward pass")
def _() -> Inputs:
    class Soft(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            return F.softmax(super().forward(tokens), dim=-1)

    return Inputs(Soft(), data.language(), data.next_token)


@cases.fault(LOSS, "mlp, ReLU before values that may be negative")
def _() -> Inputs:
    return Inputs(then(mlp(outputs=1), nn.ReLU()), data.curve(), MSE)


@cases.fault(LOSS, "autoencoder, sigmoid before values beyond 0 to 1")
def _() -> Inputs:
    rows = data.table()[0]
    return Inputs(then(Autoencoder(), nn.Sigmoid()), (rows, rows), MSE)


cases.add(
    LOSS,
    "cnn, softmax before nll, without a log",
    lambda: Inputs(then(cnn(), nn.Softmax(1)), data.images(), nn.NLLLoss()),
)


@cases.fault(FITS, "mlp, (N, 1) against (N,)")
def _() -> Inputs:
    rows, targets = data.curve()
    return Inputs(mlp(outputs=1), (rows, targets[:, 0]), MSE)


@cases.fault(FITS, "rnn, (N,) against (N, 1)")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x)[:, 0], body=RNN(outputs=1))
    rows, _ = data.series()
    return Inputs(model, (rows, rows[:, -1, :1].sin()), MSE)


cases.add(
    FITS, "cnn, three outputs for four classes", lambda: Inputs(cnn(outputs=3), data.images(), CE)
)


@cases.fault(FITS, "mlp, one output with cross-entropy")
def _() -> Inputs:
    rows, labels = data.table(classes=2)
    return Inputs(mlp(outputs=1), (rows, labels), CE)


@cases.fault(FITS, "transformer, fewer outputs than tokens")
def _() -> Inputs:
    model = Decoder()
    model.head = nn.Linear(32, 15)
    return Inputs(model, data.language(), data.next_token)


@cases.fault(FITS, "autoencoder, one value for each image")
def _() -> Inputs:
    images = data.pictures()
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(144, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid()
    )
    return Inputs(model, (images.flatten(1), images.flatten(1)), MSE)


@cases.fault(SANE, "mlp, classes counted from 1")
def _() -> Inputs:
    rows, labels = data.table()
    return Inputs(mlp(), (rows, labels + 1), CE)


@cases.fault(SANE, "cnn, 255 where nothing is known")
def _() -> Inputs:
    images, labels = data.images()
    labels[::5] = 255
    return Inputs(cnn(), (images, labels), CE)


@cases.fault(SANE, "rnn, every target the same")
def _() -> Inputs:
    waves, labels = data.series()
    return Inputs(RNN(), (waves, torch.ones_like(labels)), CE)


@cases.fault(SANE, "mlp, a target is NaN")
def _() -> Inputs:
    rows, targets = data.curve()
    targets[7] = float("nan")
    return Inputs(mlp(outputs=1), (rows, targets), MSE)


@cases.fault(SANE, "mlp, -1 and 1 with a loss of 0 and 1")
def _() -> Inputs:
    rows, targets = data.answers()
    return Inputs(mlp(outputs=1), (rows, 2 * targets - 1), nn.BCEWithLogitsLoss())


@cases.fault(SANE, "transformer, classes counted from 1")
def _() -> Inputs:
    tokens, labels = data.text()
    return Inputs(Encoder(), (tokens, labels + 1), CE)


@cases.fault(SANE, "regression, every target the same")
def _() -> Inputs:
    rows, targets = data.curve()
    return Inputs(mlp(outputs=1), (rows, torch.full_like(targets, 0.5)), MSE)


def few(labels: Tensor, count: int, rest: int = 0) -> Tensor:
    """Return labels that are equal except for a few."""
    return torch.where(torch.arange(len(labels)) < count, labels, rest)


@cases.fault(BALANCED, "mlp, 124 of 128 the same")
def _() -> Inputs:
    rows, labels = data.table(128)
    return Inputs(mlp(), (rows, few(labels, 6)), CE)


@cases.fault(BALANCED, "cnn, 62 of 64 the same")
def _() -> Inputs:
    images, labels = data.images(64, classes=2)
    return Inputs(cnn(outputs=2), (images, few(labels, 4)), CE)


@cases.fault(BALANCED, "mlp, three answers of 200 are yes")
def _() -> Inputs:
    rows, _ = data.answers(200)
    targets = (torch.arange(200) % 70 == 3).float()[:, None]
    return Inputs(mlp(outputs=1), (rows, targets), nn.BCEWithLogitsLoss())


@cases.fault(BALANCED, "transformer, 125 texts of 128 the same")
def _() -> Inputs:
    tokens, labels = data.text(128)
    return Inputs(Encoder(), (tokens, few(labels, 4, 1)), CE)
