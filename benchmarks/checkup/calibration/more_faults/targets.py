"""Outputs that do not fit the loss or the targets."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.plant import Given, Net, Plants

plants = Plants()
LOSS, FITS, SANE = "output_fits_the_loss", "output_fits_the_targets", "targets_are_sane"
BALANCED = "classes_are_balanced"
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@plants.fault(LOSS, "rnn, tanh before cross-entropy")
def _() -> Given:
    return Given(nn.Sequential(RNN(), nn.Tanh()), data.series(), CE)


@plants.fault(LOSS, "mlp, softmax of one answer")
def _() -> Given:
    model = nn.Sequential(mlp(outputs=1), nn.Softmax(1))
    return Given(model, data.answers(), nn.BCELoss())


@plants.fault(LOSS, "transformer, ReLU after the head")
def _() -> Given:
    model = Net(lambda net, x: F.relu(net.body(x)), body=Encoder())
    return Given(model, data.text(), CE)


@plants.fault(LOSS, "cnn, probabilities of several answers into a loss of logits")
def _() -> Given:
    images, labels = data.images()
    targets = torch.stack([labels % 2, labels // 2, labels.clamp(max=1)], 1).float()
    model = nn.Sequential(cnn(outputs=3), nn.Sigmoid())
    return Given(model, (images, targets), nn.MultiLabelSoftMarginLoss())


@plants.fault(LOSS, "autoencoder, tanh before values of three and more")
def _() -> Given:
    rows = 2 * data.table()[0]
    return Given(nn.Sequential(Autoencoder(), nn.Tanh()), (rows, rows), nn.SmoothL1Loss())


@plants.fault(FITS, "mlp, three outputs for one value")
def _() -> Given:
    return Given(mlp(outputs=3), data.curve(), MSE)


@plants.fault(FITS, "rnn, a mean that keeps its dimension")
def _() -> Given:
    model = Net(
        lambda net, x: net.head(net.rnn(x)[0]).mean(1, keepdim=True),
        rnn=nn.GRU(4, 16, batch_first=True),
        head=nn.Linear(16, 1),
    )
    waves, _ = data.series()
    return Given(model, (waves, waves[:, -1, :1].sin()), MSE)


@plants.fault(FITS, "autoencoder, one channel for three colours")
def _() -> Given:
    images = data.pictures(channels=3)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid()
    )
    return Given(model, (images, images), MSE)


@plants.fault(FITS, "transformer, classes are not the second dimension")
def _() -> Given:
    return Given(Decoder(), data.language(), CE)


@plants.fault(SANE, "cnn, several answers at once with cross-entropy")
def _() -> Given:
    images, labels = data.images()
    several = F.one_hot(labels, 4) + F.one_hot((labels + 1) % 4, 4)
    return Given(cnn(), (images, several.float()), CE)


@plants.fault(SANE, "mlp, answers in percent")
def _() -> Given:
    rows, targets = data.answers()
    return Given(mlp(outputs=1), (rows, 100 * targets), BCE)


@plants.fault(SANE, "transformer, padding is -1 where -100 is left out")
def _() -> Given:
    tokens, after = data.language()
    after = after.clone()
    after[:, -3:] = -1
    return Given(Decoder(), (tokens, after), data.next_token)


@plants.fault(SANE, "rnn, the log of counts that may be 0")
def _() -> Given:
    waves, _ = data.series()
    counts = (2 + 2 * waves[:, 0, :1]).clamp(min=0).floor()
    return Given(RNN(outputs=1), (waves, counts.log()), MSE)


@plants.fault(BALANCED, "rnn, a loader in which 121 of 128 are the same")
def _() -> Given:
    waves, labels = data.series(128)
    labels = torch.where(torch.arange(128) % 21 == 1, labels % 2, 2)
    return Given(RNN(), DataLoader(TensorDataset(waves, labels), batch_size=128), CE)


@plants.fault(BALANCED, "cnn, nearly all answers are yes")
def _() -> Given:
    images, _ = data.images(64)
    targets = (torch.arange(64) % 25 != 4).float()
    model = Net(lambda net, x: net.body(x).squeeze(1), body=cnn(outputs=1))
    return Given(model, (images, targets), BCE)


@plants.fault(BALANCED, "mlp, 125 of 128 the same, as rows of zeros and a one")
def _() -> Given:
    rows, labels = data.table(128)
    labels = torch.where(torch.arange(128) < 5, labels, 0)
    return Given(mlp(), (rows, F.one_hot(labels, 3).float()), CE)


@plants.fault(BALANCED, "transformer, six of 96 texts are of other classes")
def _() -> Given:
    tokens, labels = data.text(96)
    labels = torch.where(torch.arange(96) < 9, labels, 2)
    inputs: dict[str, Any] = {"tokens": tokens, "attention_mask": torch.ones_like(tokens).bool()}
    return Given(Encoder(), (inputs, labels), CE)
