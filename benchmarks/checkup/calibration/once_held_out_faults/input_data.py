"""Faults of the data: wrong inputs, and validation samples seen in training."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
SANE, APART = "inputs_are_sane", "validation_is_apart"
CE = nn.CrossEntropyLoss()


@cases.fault(SANE, "mlp, a column of seconds since 1970")
def _() -> Inputs:
    rows, labels = data.table(64)
    rows[:, 4] = 1.7e9 + 1e6 * torch.rand(64)
    return Inputs(mlp(), (rows, labels), CE)


@cases.fault(SANE, "cnn, values of 0 to 1 divided by 65535")
def _() -> Inputs:
    images, labels = data.images()
    return Inputs(cnn(), (images.sigmoid() / 65535, labels), CE)


@cases.fault(SANE, "rnn, -9999 where a value is missing")
def _() -> Inputs:
    waves, labels = data.series()
    return Inputs(RNN(), (waves.masked_fill(torch.rand(waves.shape) < 0.1, -9999), labels), CE)


@cases.fault(SANE, "autoencoder, raw values of a scanner")
def _() -> Inputs:
    images = (2000 * data.pictures() - 1000).flatten(1)
    model = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 144))
    return Inputs(model, (images, images), nn.MSELoss())


@cases.fault(APART, "mlp, every row was there twice before the split")
def _() -> Inputs:
    rows, labels = data.table(64)
    order = torch.randperm(128)
    rows, labels = rows.repeat(2, 1)[order], labels.repeat(2)[order]
    return Inputs(mlp(), (rows[:96], labels[:96]), CE, validation=(rows[96:], labels[96:]))


@cases.fault(APART, "transformer, the last eight were not taken out of training")
def _() -> Inputs:
    tokens, mask, labels = data.padded()
    batch = {"tokens": tokens, "attention_mask": mask}
    last = {name: each[-8:].clone() for name, each in batch.items()}
    return Inputs(Encoder(), (batch, labels), CE, validation=(last, labels[-8:]))


@cases.fault(APART, "cnn, two random parts of one set")
def _() -> Inputs:
    images = TensorDataset(*data.images(80))
    train, test = (Subset(images, torch.randperm(80)[size].tolist()) for size in PARTS)
    loaders = DataLoader(train, batch_size=64, shuffle=True), DataLoader(test, batch_size=16)
    return Inputs(cnn(), loaders[0], CE, validation=loaders[1])


PARTS = (slice(0, 64), slice(64, 80))
