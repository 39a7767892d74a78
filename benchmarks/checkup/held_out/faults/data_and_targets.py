"""Data, targets, losses and learning rates from which a model cannot learn."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import (
    RNN,
    WIDTH,
    Autoencoder,
    Decoder,
    Encoder,
    Patches,
    cnn,
    mlp,
)
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList("reporting")
INPUTS, TARGETS = "inputs_are_sane", "targets_are_sane"
BALANCED, APART = "classes_are_balanced", "validation_is_apart"
LOSS, FITS = "output_fits_the_loss", "output_fits_the_targets"
CHANCE, OVERFITS, RATE = "starts_at_chance", "overfits_one_batch", "learning_rate_is_sane"
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@cases.fault(INPUTS, "transformer of a series, volts where microvolts are meant")
def _() -> Inputs:
    class Waves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
            self.places = nn.Parameter(0.02 * torch.randn(data.LENGTH, WIDTH))
            self.body = nn.TransformerEncoderLayer(WIDTH, 4, 64, 0.0, batch_first=True)

        def forward(self, x: Tensor) -> Any:
            return self.head(self.body(self.first(x) + self.places).mean(1))

    waves, labels = data.series()
    return Inputs(Waves(), (1e-6 * waves, labels), CE)


@cases.fault(INPUTS, "autoencoder, a dead pixel is NaN in one picture")
def _() -> Inputs:
    images = data.pictures().flatten(1)
    inputs = images.clone()
    inputs[5, 70] = float("nan")
    model = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 144))
    return Inputs(model, (inputs, images), MSE)


@cases.fault(INPUTS, "rnn, prices of tens of thousands")
def _() -> Inputs:
    waves, labels = data.series()
    return Inputs(RNN(), (30_000 + 4000 * waves, labels), CE)


@cases.fault(TARGETS, "autoencoder, grey values up to 255 with a loss of 0 to 1")
def _() -> Inputs:
    images = data.pictures().flatten(1)
    model = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 144))
    return Inputs(model, (images, (255 * images).round()), BCE)


@cases.fault(TARGETS, "rnn, shares of classes in percent")
def _() -> Inputs:
    waves, labels = data.series()
    shares = 80 * F.one_hot(labels, 3) + 20 * F.one_hot((labels + 1) % 3, 3)
    return Inputs(RNN(), (waves, shares.float()), CE)


@cases.fault(BALANCED, "patches, 61 of 64 the same")
def _() -> Inputs:
    images, labels = data.images(64)
    return Inputs(Patches(), (images, torch.where(torch.arange(64) < 4, labels, 0)), CE)


@cases.fault(BALANCED, "mlp, two of a hundred are ill, NumPy arrays")
def _() -> Inputs:
    rows = data.table(100)[0]
    ill = (torch.arange(100) % 50 == 7).long()
    return Inputs(mlp(outputs=2), (rows.numpy(), ill.numpy()), CE)


@cases.fault(APART, "rnn, drawn with replacement from the training samples")
def _() -> Inputs:
    waves, labels = data.series(64)
    drawn = torch.randint(64, (24,))
    return Inputs(RNN(), (waves, labels), CE, validation=(waves[drawn], labels[drawn]))


@cases.fault(APART, "cnn, filled up with eight training images")
def _() -> Inputs:
    images, labels = data.images(56)
    last = torch.cat([images[32:], images[:8]]), torch.cat([labels[32:], labels[:8]])
    return Inputs(cnn(), (images[:32], labels[:32]), CE, validation=last)


@cases.fault(APART, "mlp, two inputs, every fourth training row")
def _() -> Inputs:
    rows, labels = data.table(64)
    model = Net(lambda net, x, z: net.body(torch.cat([x, z], 1)), body=mlp())
    train = (rows[:, :4], rows[:, 4:]), labels
    seen = (rows[::4, :4].clone(), rows[::4, 4:].clone()), labels[::4]
    return Inputs(model, train, CE, validation=seen)


@cases.fault(LOSS, "cnn, sigmoid before cross-entropy")
def _() -> Inputs:
    return Inputs(nn.Sequential(cnn(), nn.Sigmoid()), data.images(), CE)


@cases.fault(LOSS, "rnn, softplus before standardised values")
def _() -> Inputs:
    waves = data.series(64)[0]
    values = waves[:, -1, :1] / waves[:, -1, :1].std()
    return Inputs(nn.Sequential(RNN(outputs=1), nn.Softplus()), (waves[:, :-1], values), MSE)


@cases.fault(LOSS, "transformer, outputs are cut to 0 to 1 before cross-entropy")
def _() -> Inputs:
    return Inputs(Net(lambda net, x: net.body(x).clamp(0, 1), body=Encoder()), data.text(), CE)


@cases.fault(FITS, "cnn, masks have no channel and outputs have one")
def _() -> Inputs:
    images, _ = data.images(16)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))
    return Inputs(model, (images, F.avg_pool2d(images, 3, 1, 1)[:, 0]), nn.L1Loss())


@cases.fault(FITS, "autoencoder, a dimension stays in the output")
def _() -> Inputs:
    rows = data.table()[0]
    model = Net(lambda net, x: net.body(x[:, None]), body=Autoencoder())
    return Inputs(model, (rows, rows), MSE)


@cases.fault(CHANCE, "rnn, outputs are prices and targets are standardised")
def _() -> Inputs:
    waves = data.series()[0]
    model = Net(lambda net, x: 20_000 + 5000 * net.body(x), body=RNN(outputs=1))
    return Inputs(model, (waves[:, :-1], waves[:, -1, :1]), MSE)


@cases.fault(CHANCE, "mlp, forty ways around without a norm or a scale")
def _() -> Inputs:
    class Grows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 3)
            self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(40))
            for each in self.layers:
                nn.init.kaiming_normal_(each.get_parameter("weight"))

        def forward(self, x: Tensor) -> Any:
            x = self.first(x)
            for each in self.layers:
                x = x + each(x).relu()
            return self.last(x)

    return Inputs(Grows(), data.table(), CE)


@cases.fault(OVERFITS, "transformer, the same output at every place")
def _() -> Inputs:
    class Same(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            outputs = super().forward(tokens)
            return outputs[:, :1].expand_as(outputs)

    return Inputs(Same(), data.language(), data.next_token)


@cases.fault(OVERFITS, "rnn, a hundredth of tanh for values around 1")
def _() -> Inputs:
    waves = data.series()[0]
    model = Net(lambda net, x: 0.01 * net.body(x).tanh(), body=RNN(outputs=1))
    return Inputs(model, (waves[:, :-1], waves[:, -1, :1]), MSE)


@cases.fault(OVERFITS, "autoencoder, weights are clipped as those of a critic")
def _() -> Inputs:
    class Clipped(Autoencoder):
        def forward(self, x: Tensor) -> Any:
            with torch.no_grad():
                for each in self.parameters():
                    each.clamp_(-0.01, 0.01)
            return super().forward(x)

    rows = data.table()[0]
    return Inputs(Clipped(), (rows, rows), MSE)


@cases.fault(RATE, "cnn, Adagrad at 50")
def _() -> Inputs:
    model = cnn()
    return Inputs(model, data.images(), CE, torch.optim.Adagrad(model.parameters(), lr=50.0))


@cases.fault(RATE, "rnn, SGD at 1e-8")
def _() -> Inputs:
    model = RNN()
    return Inputs(model, data.series(), CE, torch.optim.SGD(model.parameters(), lr=1e-8))
