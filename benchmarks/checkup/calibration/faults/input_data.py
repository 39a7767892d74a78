"""Faults of the data: wrong inputs, and validation samples seen in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Autoencoder, Encoder, Patches, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
SANE, APART = "inputs_are_sane", "validation_is_apart"
CE = nn.CrossEntropyLoss()


def bytes_of(images: Tensor) -> Tensor:
    return (255 * images.sigmoid()).round()


@cases.fault(SANE, "cnn, grey values up to 255")
def _() -> Inputs:
    images, labels = data.images()
    return Inputs(cnn(), (bytes_of(images), labels), CE)


@cases.fault(SANE, "mlp, a value is NaN")
def _() -> Inputs:
    rows, labels = data.table()
    rows[11, 3] = float("nan")
    return Inputs(mlp(), (rows, labels), CE)


@cases.fault(SANE, "mlp, a column is constant")
def _() -> Inputs:
    rows, labels = data.table()
    rows[:, 2] = 7.0
    return Inputs(mlp(), (rows, labels), CE)


@cases.fault(SANE, "rnn, all samples the same")
def _() -> Inputs:
    waves, labels = data.series()
    return Inputs(RNN(), (waves[:1].expand_as(waves).clone(), labels), CE)


@cases.fault(SANE, "mlp, columns of 1e-3 beside some of 1e5")
def _() -> Inputs:
    rows, labels = data.table()
    return Inputs(mlp(), (rows * torch.logspace(-3, 5, 8), labels), CE)


@cases.fault(SANE, "patches, grey values up to 255")
def _() -> Inputs:
    images, labels = data.images()
    return Inputs(Patches(), (bytes_of(images), labels), CE)


@cases.fault(SANE, "autoencoder, values of a million")
def _() -> Inputs:
    rows = data.table()[0] * 1e6
    return Inputs(Autoencoder(), (rows, rows), nn.MSELoss())


@cases.fault(SANE, "rnn, an infinite value")
def _() -> Inputs:
    waves, labels = data.series()
    waves[5, 2, 1] = float("inf")
    return Inputs(RNN(), (waves, labels), CE)


@cases.fault(APART, "mlp, the same batch")
def _() -> Inputs:
    batch = data.table()
    return Inputs(mlp(), batch, CE, validation=batch)


@cases.fault(APART, "cnn, half of the batch again")
def _() -> Inputs:
    images, labels = data.images()
    others, more = data.images(16)
    again = torch.cat([others, images[16:]]), torch.cat([more, labels[16:]])
    return Inputs(cnn(), (images, labels), CE, validation=again)


@cases.fault(APART, "rnn, a loader of the same samples")
def _() -> Inputs:
    samples = TensorDataset(*data.series(64))
    loaders = [DataLoader(samples, batch_size=64, shuffle=mixed) for mixed in (True, False)]
    return Inputs(RNN(), loaders[0], CE, validation=loaders[1])


@cases.fault(APART, "transformer, some texts are in both")
def _() -> Inputs:
    tokens, labels = data.text()
    others, more = data.text()
    others[:5], more[:5] = tokens[10:15], labels[10:15]
    return Inputs(Encoder(), (tokens, labels), CE, validation=(others, more))


@cases.fault(APART, "autoencoder, without targets, in another order")
def _() -> Inputs:
    rows = data.table()[0]
    return Inputs(Autoencoder(), rows, validation=rows.flip(0))
