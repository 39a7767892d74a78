"""Autoencoders of small pictures."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.reported_images import stripes
from benchmarks.programs.data import Split, digits
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import explained, predict, r_squared

programs = ProgramList("calibration", "autoencoders")


def flat_digits(seed: int) -> Split:
    """Return digits as rows of 64 numbers with mean 0 and deviation 1, over all pixels."""
    data = digits(seed).flat()
    mean, spread = data.x.mean(), data.x.std()
    return Split((data.x - mean) / spread, data.y, (data.x_test - mean) / spread, data.y_test)


class Variational(nn.Module):
    """A variational autoencoder. In evaluation it decodes the mean."""

    def __init__(self, latent: int = 10) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.Softplus())
        self.mu, self.logvar = nn.Linear(64, latent), nn.Linear(64, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.Softplus(), nn.Linear(64, 64))

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.encoder(x)
        return self.mu(hidden), self.logvar(hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encode(x)[0])


@programs.script(
    faults.WRONG_TERM, "forum: my VAE draws the same grey digit; MSELoss() plus a KL that is a sum"
)
def vae_grey(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = flat_digits(seed)
    model = Variational()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(40):
        for rows in torch.randperm(len(data.x)).split(64):
            x = data.x[rows]
            mu, logvar = model.encode(x)
            code = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
            error = (model.decoder(code) - x) ** 2
            kl = -0.5 * (1 + logvar - mu**2 - logvar.exp())
            by_sample = 2 * error.sum(1).mean() + kl.sum(1).mean()
            loss = by_sample if fixed else error.mean() + kl.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return r_squared(predict(model, data.x_test), data.x_test)


def bottleneck(inside: int, width: int = 64, code: int = 12) -> nn.Sequential:
    """Return an autoencoder of three hidden layers."""
    return nn.Sequential(
        *(nn.Linear(inside, width), nn.LeakyReLU(0.2), nn.Linear(width, code)),
        *(nn.Linear(code, width), nn.LeakyReLU(0.2), nn.Linear(width, inside)),
    )


@programs.supervised(
    [faults.WRONG_DIMENSION, faults.HIGH_RATE],
    "issue: an error of our own averages the batch before the square; Adam with lr=0.3",
)
def average_batch(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = flat_digits(seed + 2)

    def error(output: Tensor, target: Tensor) -> Tensor:
        if fixed:
            return (output - target).square().mean(0).sum()
        return (output - target).mean(0).square().sum()

    model = bottleneck(64)
    return Parts(
        model=model,
        data=(data.x, data.x),
        loss=error,
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 0.3),
        score=explained(data.x_test, data.x_test),
        constant=0.0,
        epochs=30,
        batch_size=32,
        validation=(data.x_test, data.x_test),
    )


class ConvCoder(nn.Module):
    """Strided convolutions down, transposed convolutions up."""

    def __init__(self, cut: bool, bounded: bool) -> None:
        super().__init__()
        self.cut, self.bounded = cut, bounded
        self.enc1 = nn.Conv2d(1, 12, 4, stride=2, padding=1)
        self.enc2 = nn.Conv2d(12, 6, 4, stride=2, padding=1)
        self.dec1 = nn.ConvTranspose2d(6, 12, 4, stride=2, padding=1)
        self.dec2 = nn.ConvTranspose2d(12, 1, 4, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        code = torch.tanh(self.enc2(F.elu(self.enc1(x))))
        if self.cut:
            code = code.detach()
        x = self.dec2(F.elu(self.dec1(code)))
        return torch.sigmoid(x) if self.bounded else x


@programs.script(
    [faults.DETACHED, faults.BOUNDED_OUTPUT, faults.CLIPPING],
    "Q&A: code.detach() to plot it, a sigmoid for inputs below 0, gradients clipped to 0.005",
)
def weave_coder(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = stripes(seed, 900)
    clean = data.x / data.x.std()
    held = data.x_test / data.x.std()
    model = ConvCoder(cut=not fixed, bounded=not fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(len(clean)).split(20):
            loss = F.mse_loss(model(clean[rows]), clean[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0 if fixed else 0.005)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_loss=float(F.mse_loss(predict(model, held), held)))
    return r_squared(predict(model, held), held)


@programs.supervised(
    [faults.SMALL.mildly(), faults.LOW_RATE.mildly()],
    "forum: takes the salt and pepper out of digits; two channels inside, and the rate of a paper",
    data="mnist",
)
def salt_and_pepper(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    given = real("mnist", seed)
    small, small_test = F.avg_pool2d(given.x, 2), F.avg_pool2d(given.x_test, 2)

    def spoil(pictures: Tensor) -> Tensor:
        chance = torch.rand_like(pictures)
        spoilt = torch.where(chance < 0.1, small.min(), pictures)
        return torch.where(chance > 0.9, small.max(), spoilt)

    noisy, noisy_test = spoil(small), spoil(small_test)
    width = 12 if fixed else 2
    model = nn.Sequential(
        *(nn.Conv2d(1, width, 3, padding=1), nn.GELU()),
        *(nn.Conv2d(width, width, 3, padding=1), nn.GELU(), nn.Conv2d(width, 1, 3, padding=1)),
    )
    return Parts(
        model=model,
        data=(noisy[:1500], small[:1500]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=4e-3 if fixed else 4e-4),
        score=explained(noisy_test, small_test),
        constant=0.0,
        epochs=14,
        batch_size=30,
    )
