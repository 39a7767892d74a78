"""Data, targets, losses and rates from which nothing can be learnt."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, WIDTH, Autoencoder, Decoder, Encoder, Patches, cnn, mlp
from benchmarks.checkup.plant import Given, Net, Plants

plants = Plants("reporting")
INPUTS, TARGETS = "inputs_are_sane", "targets_are_sane"
BALANCED, APART = "classes_are_balanced", "validation_is_apart"
LOSS, FITS = "output_fits_the_loss", "output_fits_the_targets"
CHANCE, OVERFITS, RATE = "starts_at_chance", "overfits_one_batch", "learning_rate_is_sane"
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@plants.fault(INPUTS, "transformer of a series, volts where microvolts are meant")
def _() -> Given:
    class Waves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
            self.places = nn.Parameter(0.02 * torch.randn(data.LENGTH, WIDTH))
            self.body = nn.TransformerEncoderLayer(WIDTH, 4, 64, 0.0, batch_first=True)

        def forward(self, x: Tensor) -> Any:
            return self.head(self.body(self.first(x) + self.places).mean(1))

    waves, labels = data.series()
    return Given(Waves(), (1e-6 * waves, labels), CE)


@plants.fault(INPUTS, "autoencoder, a dead pixel is NaN in one picture")
def _() -> Given:
    images = data.pictures().flatten(1)
    inputs = images.clone()
    inputs[5, 70] = float("nan")
    model = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 144))
    return Given(model, (inputs, images), MSE)


@plants.fault(INPUTS, "rnn, prices of tens of thousands")
def _() -> Given:
    waves, labels = data.series()
    return Given(RNN(), (30_000 + 4000 * waves, labels), CE)


@plants.fault(TARGETS, "autoencoder, grey values up to 255 with a loss of 0 to 1")
def _() -> Given:
    images = data.pictures().flatten(1)
    model = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 144))
    return Given(model, (images, (255 * images).round()), BCE)


@plants.fault(TARGETS, "rnn, shares of classes in percent")
def _() -> Given:
    waves, labels = data.series()
    shares = 80 * F.one_hot(labels, 3) + 20 * F.one_hot((labels + 1) % 3, 3)
    return Given(RNN(), (waves, shares.float()), CE)


@plants.fault(BALANCED, "patches, 61 of 64 the same")
def _() -> Given:
    images, labels = data.images(64)
    return Given(Patches(), (images, torch.where(torch.arange(64) < 4, labels, 0)), CE)


@plants.fault(BALANCED, "mlp, two of a hundred are ill, NumPy arrays")
def _() -> Given:
    rows = data.table(100)[0]
    ill = (torch.arange(100) % 50 == 7).long()
    return Given(mlp(outputs=2), (rows.numpy(), ill.numpy()), CE)


@plants.fault(APART, "rnn, drawn with replacement from the training samples")
def _() -> Given:
    waves, labels = data.series(64)
    drawn = torch.randint(64, (24,))
    return Given(RNN(), (waves, labels), CE, validation=(waves[drawn], labels[drawn]))


@plants.fault(APART, "cnn, filled up with eight training images")
def _() -> Given:
    images, labels = data.images(56)
    last = torch.cat([images[32:], images[:8]]), torch.cat([labels[32:], labels[:8]])
    return Given(cnn(), (images[:32], labels[:32]), CE, validation=last)


@plants.fault(APART, "mlp, two inputs, every fourth training row")
def _() -> Given:
    rows, labels = data.table(64)
    model = Net(lambda net, x, z: net.body(torch.cat([x, z], 1)), body=mlp())
    train = (rows[:, :4], rows[:, 4:]), labels
    seen = (rows[::4, :4].clone(), rows[::4, 4:].clone()), labels[::4]
    return Given(model, train, CE, validation=seen)


@plants.fault(LOSS, "cnn, sigmoid before cross-entropy")
def _() -> Given:
    return Given(nn.Sequential(cnn(), nn.Sigmoid()), data.images(), CE)


@plants.fault(LOSS, "rnn, softplus before standardised values")
def _() -> Given:
    waves = data.series(64)[0]
    values = waves[:, -1, :1] / waves[:, -1, :1].std()
    return Given(nn.Sequential(RNN(outputs=1), nn.Softplus()), (waves[:, :-1], values), MSE)


@plants.fault(LOSS, "transformer, outputs are cut to 0 to 1 before cross-entropy")
def _() -> Given:
    return Given(Net(lambda net, x: net.body(x).clamp(0, 1), body=Encoder()), data.text(), CE)


@plants.fault(FITS, "cnn, masks have no channel and outputs have one")
def _() -> Given:
    images, _ = data.images(16)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))
    return Given(model, (images, F.avg_pool2d(images, 3, 1, 1)[:, 0]), nn.L1Loss())


@plants.fault(FITS, "autoencoder, a dimension stays in the output")
def _() -> Given:
    rows = data.table()[0]
    model = Net(lambda net, x: net.body(x[:, None]), body=Autoencoder())
    return Given(model, (rows, rows), MSE)


@plants.fault(CHANCE, "rnn, outputs are prices and targets are standardised")
def _() -> Given:
    waves = data.series()[0]
    model = Net(lambda net, x: 20_000 + 5000 * net.body(x), body=RNN(outputs=1))
    return Given(model, (waves[:, :-1], waves[:, -1, :1]), MSE)


@plants.fault(CHANCE, "mlp, forty ways around without a norm or a scale")
def _() -> Given:
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

    return Given(Grows(), data.table(), CE)


@plants.fault(OVERFITS, "transformer, the same output at every place")
def _() -> Given:
    class Same(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            outputs = super().forward(tokens)
            return outputs[:, :1].expand_as(outputs)

    return Given(Same(), data.language(), data.next_token)


@plants.fault(OVERFITS, "rnn, a hundredth of tanh for values around 1")
def _() -> Given:
    waves = data.series()[0]
    model = Net(lambda net, x: 0.01 * net.body(x).tanh(), body=RNN(outputs=1))
    return Given(model, (waves[:, :-1], waves[:, -1, :1]), MSE)


@plants.fault(OVERFITS, "autoencoder, weights are clipped as those of a critic")
def _() -> Given:
    class Clipped(Autoencoder):
        def forward(self, x: Tensor) -> Any:
            with torch.no_grad():
                for each in self.parameters():
                    each.clamp_(-0.01, 0.01)
            return super().forward(x)

    rows = data.table()[0]
    return Given(Clipped(), (rows, rows), MSE)


@plants.fault(RATE, "cnn, Adagrad at 50")
def _() -> Given:
    model = cnn()
    return Given(model, data.images(), CE, torch.optim.Adagrad(model.parameters(), lr=50.0))


@plants.fault(RATE, "rnn, SGD at 1e-8")
def _() -> Given:
    model = RNN()
    return Given(model, data.series(), CE, torch.optim.SGD(model.parameters(), lr=1e-8))
