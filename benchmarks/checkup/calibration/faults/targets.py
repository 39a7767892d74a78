"""Outputs that do not fit the loss or the targets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.plant import Given, Net, Plants

plants = Plants()
LOSS, FITS, SANE = "output_fits_the_loss", "output_fits_the_targets", "targets_are_sane"
BALANCED = "classes_are_balanced"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def then(model: nn.Module, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(model, *last)


plants.add(
    LOSS,
    "mlp, softmax before cross-entropy",
    lambda: Given(then(mlp(), nn.Softmax(-1)), data.table(), CE),
)


@plants.fault(LOSS, "mlp, sigmoid before a loss of logits")
def _() -> Given:
    model = then(mlp(outputs=1), nn.Sigmoid())
    return Given(model, data.answers(), nn.BCEWithLogitsLoss())


@plants.fault(LOSS, "cnn, logits into a loss of probabilities")
def _() -> Given:
    images, labels = data.images(classes=2)
    return Given(cnn(outputs=1), (images, labels[:, None].float()), nn.BCELoss())


plants.add(LOSS, "rnn, logits into nll", lambda: Given(RNN(), data.series(), nn.NLLLoss()))


@plants.fault(LOSS, "transformer, softmax in the forward pass")
def _() -> Given:
    class Soft(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            return F.softmax(super().forward(tokens), dim=-1)

    return Given(Soft(), data.language(), data.next_token)


@plants.fault(LOSS, "mlp, ReLU before values that may be negative")
def _() -> Given:
    return Given(then(mlp(outputs=1), nn.ReLU()), data.curve(), MSE)


@plants.fault(LOSS, "autoencoder, sigmoid before values beyond 0 to 1")
def _() -> Given:
    rows = data.table()[0]
    return Given(then(Autoencoder(), nn.Sigmoid()), (rows, rows), MSE)


plants.add(
    LOSS,
    "cnn, softmax before nll, without a log",
    lambda: Given(then(cnn(), nn.Softmax(1)), data.images(), nn.NLLLoss()),
)


@plants.fault(FITS, "mlp, (N, 1) against (N,)")
def _() -> Given:
    rows, targets = data.curve()
    return Given(mlp(outputs=1), (rows, targets[:, 0]), MSE)


@plants.fault(FITS, "rnn, (N,) against (N, 1)")
def _() -> Given:
    model = Net(lambda net, x: net.body(x)[:, 0], body=RNN(outputs=1))
    rows, _ = data.series()
    return Given(model, (rows, rows[:, -1, :1].sin()), MSE)


plants.add(
    FITS, "cnn, three outputs for four classes", lambda: Given(cnn(outputs=3), data.images(), CE)
)


@plants.fault(FITS, "mlp, one output with cross-entropy")
def _() -> Given:
    rows, labels = data.table(classes=2)
    return Given(mlp(outputs=1), (rows, labels), CE)


@plants.fault(FITS, "transformer, fewer outputs than tokens")
def _() -> Given:
    model = Decoder()
    model.head = nn.Linear(32, 15)
    return Given(model, data.language(), data.next_token)


@plants.fault(FITS, "autoencoder, one value for each image")
def _() -> Given:
    images = data.pictures()
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(144, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid()
    )
    return Given(model, (images.flatten(1), images.flatten(1)), MSE)


@plants.fault(SANE, "mlp, classes counted from 1")
def _() -> Given:
    rows, labels = data.table()
    return Given(mlp(), (rows, labels + 1), CE)


@plants.fault(SANE, "cnn, 255 where nothing is known")
def _() -> Given:
    images, labels = data.images()
    labels[::5] = 255
    return Given(cnn(), (images, labels), CE)


@plants.fault(SANE, "rnn, every target the same")
def _() -> Given:
    waves, labels = data.series()
    return Given(RNN(), (waves, torch.ones_like(labels)), CE)


@plants.fault(SANE, "mlp, a target is NaN")
def _() -> Given:
    rows, targets = data.curve()
    targets[7] = float("nan")
    return Given(mlp(outputs=1), (rows, targets), MSE)


@plants.fault(SANE, "mlp, -1 and 1 with a loss of 0 and 1")
def _() -> Given:
    rows, targets = data.answers()
    return Given(mlp(outputs=1), (rows, 2 * targets - 1), nn.BCEWithLogitsLoss())


@plants.fault(SANE, "transformer, classes counted from 1")
def _() -> Given:
    tokens, labels = data.text()
    return Given(Encoder(), (tokens, labels + 1), CE)


@plants.fault(SANE, "regression, every target the same")
def _() -> Given:
    rows, targets = data.curve()
    return Given(mlp(outputs=1), (rows, torch.full_like(targets, 0.5)), MSE)


def few(labels: Tensor, count: int, rest: int = 0) -> Tensor:
    """Return labels that are all the same but for a few."""
    return torch.where(torch.arange(len(labels)) < count, labels, rest)


@plants.fault(BALANCED, "mlp, 124 of 128 the same")
def _() -> Given:
    rows, labels = data.table(128)
    return Given(mlp(), (rows, few(labels, 6)), CE)


@plants.fault(BALANCED, "cnn, 62 of 64 the same")
def _() -> Given:
    images, labels = data.images(64, classes=2)
    return Given(cnn(outputs=2), (images, few(labels, 4)), CE)


@plants.fault(BALANCED, "mlp, three answers of 200 are yes")
def _() -> Given:
    rows, _ = data.answers(200)
    targets = (torch.arange(200) % 70 == 3).float()[:, None]
    return Given(mlp(outputs=1), (rows, targets), nn.BCEWithLogitsLoss())


@plants.fault(BALANCED, "transformer, 125 texts of 128 the same")
def _() -> Given:
    tokens, labels = data.text(128)
    return Given(Encoder(), (tokens, few(labels, 4, 1)), CE)
