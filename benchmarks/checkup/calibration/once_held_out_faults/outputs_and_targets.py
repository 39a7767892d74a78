"""Outputs that do not fit the loss or the targets."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
LOSS, FITS, SANE = "output_fits_the_loss", "output_fits_the_targets", "targets_are_sane"
BALANCED = "classes_are_balanced"
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@cases.fault(LOSS, "rnn, tanh before cross-entropy")
def _() -> Inputs:
    return Inputs(nn.Sequential(RNN(), nn.Tanh()), data.series(), CE)


@cases.fault(LOSS, "mlp, softmax of one answer")
def _() -> Inputs:
    model = nn.Sequential(mlp(outputs=1), nn.Softmax(1))
    return Inputs(model, data.answers(), nn.BCELoss())


@cases.fault(LOSS, "transformer, ReLU after the head")
def _() -> Inputs:
    model = Net(lambda net, x: F.relu(net.body(x)), body=Encoder())
    return Inputs(model, data.text(), CE)


@cases.fault(LOSS, "cnn, probabilities of several answers into a loss of logits")
def _() -> Inputs:
    images, labels = data.images()
    targets = torch.stack([labels % 2, labels // 2, labels.clamp(max=1)], 1).float()
    model = nn.Sequential(cnn(outputs=3), nn.Sigmoid())
    return Inputs(model, (images, targets), nn.MultiLabelSoftMarginLoss())


@cases.fault(LOSS, "autoencoder, tanh before values of three and more")
def _() -> Inputs:
    rows = 2 * data.table()[0]
    return Inputs(nn.Sequential(Autoencoder(), nn.Tanh()), (rows, rows), nn.SmoothL1Loss())


@cases.fault(FITS, "mlp, three outputs for one value")
def _() -> Inputs:
    return Inputs(mlp(outputs=3), data.curve(), MSE)


@cases.fault(FITS, "rnn, a mean that keeps its dimension")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(x)[0]).mean(1, keepdim=True),
        rnn=nn.GRU(4, 16, batch_first=True),
        head=nn.Linear(16, 1),
    )
    waves, _ = data.series()
    return Inputs(model, (waves, waves[:, -1, :1].sin()), MSE)


@cases.fault(FITS, "autoencoder, one channel for three colours")
def _() -> Inputs:
    images = data.pictures(channels=3)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid()
    )
    return Inputs(model, (images, images), MSE)


@cases.fault(FITS, "transformer, classes are not the second dimension")
def _() -> Inputs:
    return Inputs(Decoder(), data.language(), CE)


@cases.fault(SANE, "cnn, several answers at once with cross-entropy")
def _() -> Inputs:
    images, labels = data.images()
    several = F.one_hot(labels, 4) + F.one_hot((labels + 1) % 4, 4)
    return Inputs(cnn(), (images, several.float()), CE)


@cases.fault(SANE, "mlp, answers in percent")
def _() -> Inputs:
    rows, targets = data.answers()
    return Inputs(mlp(outputs=1), (rows, 100 * targets), BCE)


@cases.fault(SANE, "transformer, padding is -1 where -100 is left out")
def _() -> Inputs:
    tokens, after = data.language()
    after = after.clone()
    after[:, -3:] = -1
    return Inputs(Decoder(), (tokens, after), data.next_token)


@cases.fault(SANE, "rnn, the log of counts that may be 0")
def _() -> Inputs:
    waves, _ = data.series()
    counts = (2 + 2 * waves[:, 0, :1]).clamp(min=0).floor()
    return Inputs(RNN(outputs=1), (waves, counts.log()), MSE)


@cases.fault(BALANCED, "rnn, a loader in which 121 of 128 are the same")
def _() -> Inputs:
    waves, labels = data.series(128)
    labels = torch.where(torch.arange(128) % 21 == 1, labels % 2, 2)
    return Inputs(RNN(), DataLoader(TensorDataset(waves, labels), batch_size=128), CE)


@cases.fault(BALANCED, "cnn, nearly all answers are yes")
def _() -> Inputs:
    images, _ = data.images(64)
    targets = (torch.arange(64) % 25 != 4).float()
    model = Net(lambda net, x: net.body(x).squeeze(1), body=cnn(outputs=1))
    return Inputs(model, (images, targets), BCE)


@cases.fault(BALANCED, "mlp, 125 of 128 the same, as rows of zeros and a one")
def _() -> Inputs:
    rows, labels = data.table(128)
    labels = torch.where(torch.arange(128) < 5, labels, 0)
    return Inputs(mlp(), (rows, F.one_hot(labels, 3).float()), CE)


@cases.fault(BALANCED, "transformer, six of 96 texts are of other classes")
def _() -> Inputs:
    tokens, labels = data.text(96)
    labels = torch.where(torch.arange(96) < 9, labels, 2)
    inputs: dict[str, Any] = {"tokens": tokens, "attention_mask": torch.ones_like(tokens).bool()}
    return Inputs(Encoder(), (inputs, labels), CE)
