"""Data that is not what it should be, and validation that has been seen."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, Autoencoder, Encoder, Patches, cnn, mlp
from benchmarks.checkup.plant import Given, Plants

plants = Plants()
SANE, APART = "inputs_are_sane", "validation_is_apart"
CE = nn.CrossEntropyLoss()


def bytes_of(images: Tensor) -> Tensor:
    return (255 * images.sigmoid()).round()


@plants.fault(SANE, "cnn, grey values up to 255")
def _() -> Given:
    images, labels = data.images()
    return Given(cnn(), (bytes_of(images), labels), CE)


@plants.fault(SANE, "mlp, a value is NaN")
def _() -> Given:
    rows, labels = data.table()
    rows[11, 3] = float("nan")
    return Given(mlp(), (rows, labels), CE)


@plants.fault(SANE, "mlp, a column is constant")
def _() -> Given:
    rows, labels = data.table()
    rows[:, 2] = 7.0
    return Given(mlp(), (rows, labels), CE)


@plants.fault(SANE, "rnn, all samples the same")
def _() -> Given:
    waves, labels = data.series()
    return Given(RNN(), (waves[:1].expand_as(waves).clone(), labels), CE)


@plants.fault(SANE, "mlp, columns of 1e-3 beside some of 1e5")
def _() -> Given:
    rows, labels = data.table()
    return Given(mlp(), (rows * torch.logspace(-3, 5, 8), labels), CE)


@plants.fault(SANE, "patches, grey values up to 255")
def _() -> Given:
    images, labels = data.images()
    return Given(Patches(), (bytes_of(images), labels), CE)


@plants.fault(SANE, "autoencoder, values of a million")
def _() -> Given:
    rows = data.table()[0] * 1e6
    return Given(Autoencoder(), (rows, rows), nn.MSELoss())


@plants.fault(SANE, "rnn, an infinite value")
def _() -> Given:
    waves, labels = data.series()
    waves[5, 2, 1] = float("inf")
    return Given(RNN(), (waves, labels), CE)


@plants.fault(APART, "mlp, the same batch")
def _() -> Given:
    batch = data.table()
    return Given(mlp(), batch, CE, validation=batch)


@plants.fault(APART, "cnn, half of the batch again")
def _() -> Given:
    images, labels = data.images()
    others, more = data.images(16)
    again = torch.cat([others, images[16:]]), torch.cat([more, labels[16:]])
    return Given(cnn(), (images, labels), CE, validation=again)


@plants.fault(APART, "rnn, a loader of the same samples")
def _() -> Given:
    samples = TensorDataset(*data.series(64))
    loaders = [DataLoader(samples, batch_size=64, shuffle=mixed) for mixed in (True, False)]
    return Given(RNN(), loaders[0], CE, validation=loaders[1])


@plants.fault(APART, "transformer, some texts are in both")
def _() -> Given:
    tokens, labels = data.text()
    others, more = data.text()
    others[:5], more[:5] = tokens[10:15], labels[10:15]
    return Given(Encoder(), (tokens, labels), CE, validation=(others, more))


@plants.fault(APART, "autoencoder, without targets, in another order")
def _() -> Given:
    rows = data.table()[0]
    return Given(Autoencoder(), rows, validation=rows.flip(0))
