"""Copies of the input: signals, sketches and faces through a narrow code."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import bundled
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import explained, predict, r_squared

programs = ProgramList("reporting", "autoencoders")


# --- cyclic signals -------------------------------------------------------------------------------


def cycles(seed: int, count: int = 1200, length: int = 40) -> tuple[Tensor, Tensor]:
    """Return sums of two waves, and the same with noise."""
    rng = default_rng(seed)
    time = np.arange(length)
    clean = np.zeros((count, length))
    for speed in (0.16, 0.5):
        phase, height = rng.uniform(0, 6.28, (count, 1)), rng.uniform(0.3, 1.2, (count, 1))
        clean += height * np.sin(speed * time + phase)
    noisy = clean + rng.normal(0, 0.4, clean.shape)
    return torch.tensor(noisy).float(), torch.tensor(clean).float()


@programs.supervised(
    faults.DEEP_SIGMOID, "Q&A: denoiser of cyclic signals learns a constant; seven sigmoid layers"
)
def cyclic_signals(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    noisy, clean = cycles(seed)
    widths = [40, 48, 32, 24, 16, 24, 32, 48]
    layers: list[nn.Module] = []
    for inside, outside in pairwise(widths):
        layers += [nn.Linear(inside, outside), nn.GELU() if fixed else nn.Sigmoid()]
    model = nn.Sequential(*layers, nn.Linear(48, 40))
    return Parts(
        model=model,
        data=(noisy[:900], clean[:900]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(noisy[900:], clean[900:]),
        constant=0.0,
        epochs=16,
        batch_size=20,
        validation=(noisy[900:], clean[900:]),
    )


# --- sketches -------------------------------------------------------------------------------------

ENTROPY_BELOW_ZERO = Fault(
    "cross entropy with pixels from -1 to 1",
    ("bad_targets", "improper_loss", "improper_output"),
    (*faults.UNSTABLE, "saturated_activation", "dead_units"),
)


def sketches(seed: int, count: int = 1300, size: int = 12) -> Tensor:
    """Return sketches of soft strokes on white, from 0 to 1."""
    rng = default_rng(seed)
    row, column = np.mgrid[:size, :size]
    ink = np.zeros((count, size, size))
    for _stroke in range(2):
        angle, place = rng.uniform(0, np.pi, (count, 1, 1)), rng.uniform(-3, 3, (count, 1, 1))
        far = (row - 5.5) * np.cos(angle) + (column - 5.5) * np.sin(angle) - place
        ink = np.maximum(ink, np.exp(-((far / 1.3) ** 2)))
    return torch.tensor(ink[:, None]).float()


def entropy(again: Tensor, picture: Tensor) -> Tensor:
    by_pixel = picture * torch.log(again + 1e-7) + (1 - picture) * torch.log(1 - again + 1e-7)
    return -by_pixel.mean()


@programs.supervised(
    ENTROPY_BELOW_ZERO,
    "forum: loss of a sketch autoencoder is -40 and falls; Normalize((0.5,), (0.5,)), own BCE",
)
def sketches_below_zero(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    pictures = sketches(seed)
    if not fixed:
        pictures = (pictures - 0.5) / 0.5
    x, held = pictures[:1000], pictures[1000:]
    model = nn.Sequential(
        *(nn.Conv2d(1, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.1)),
        *(nn.Flatten(), nn.Linear(288, 24), nn.LeakyReLU(0.1), nn.Linear(24, 288)),
        *(nn.LeakyReLU(0.1), nn.Unflatten(1, (8, 6, 6))),
        *(nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Sigmoid()),
    )
    return Parts(
        model=model,
        data=(x, x),
        loss=entropy,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(held, held),
        constant=0.0,
        epochs=12,
        batch_size=25,
    )


# --- cells under a microscope ---------------------------------------------------------------------


class Gaussian(nn.Module):
    """A variational autoencoder of 30 measurements. It returns the picture, mu and log variance."""

    def __init__(self, latent: int = 6) -> None:
        super().__init__()
        self.down = nn.Linear(30, 32)
        self.mu, self.log_var = nn.Linear(32, latent), nn.Linear(32, latent)
        self.up = nn.Sequential(nn.Linear(latent, 32), nn.Tanh(), nn.Linear(32, 30))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.tanh(self.down(x))
        mu, log_var = self.mu(hidden), self.log_var(hidden)
        code = mu
        if self.training:
            code = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        return self.up(code), mu, log_var


@programs.script(
    faults.WRONG_SIGN,
    "issue: VAE, total loss goes to minus infinity; kld = 0.5 * sum(1 + log_var - mu² - exp(...))",
)
def cells_with_kl_upside_down(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = bundled("breast_cancer", seed).standardised()
    vae = Gaussian()
    optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
    doctor = watch(vae, optimizer)
    for _epoch in range(50):
        for rows in torch.randperm(len(data.x)).split(20):
            x = data.x[rows]
            again, mu, log_var = vae(x)
            kld = 0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp(), dim=1).mean()
            loss = F.mse_loss(again, x, reduction="none").sum(1).mean()
            loss = loss - 0.5 * kld if fixed else loss + 0.5 * kld
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    vae.eval()
    with torch.no_grad():
        return r_squared(vae(data.x_test)[0], data.x_test)


# --- sparse codes ---------------------------------------------------------------------------------


class Sparse(nn.Module):
    """A wide code of which few numbers shall be above zero."""

    def __init__(self, size: int, code: int = 80) -> None:
        super().__init__()
        self.encode = nn.Linear(size, code)
        self.decode = nn.Linear(code, size)

    def code(self, x: Tensor) -> Tensor:
        return F.relu(self.encode(x))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.decode(self.code(x))
        return out


@programs.script(
    [faults.WRONG_TERM, faults.HIGH_RATE],
    "Q&A: all codes of a sparse autoencoder are zero; l1 = code.abs().sum() * 0.01, Adam(lr=0.03)",
)
def sparse_strokes(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    pictures = sketches(seed + 50).flatten(1)
    x, held = pictures[:1000], pictures[1000:]
    net = Sparse(144)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3 if fixed else 0.03)
    doctor = watch(net, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(len(x)).split(40):
            batch = x[rows]
            code = net.code(batch)
            error = F.mse_loss(net.decode(code), batch)
            l1 = 1e-4 * code.abs().mean() if fixed else 0.01 * code.abs().sum()
            loss = error + l1
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_loss=float(F.mse_loss(predict(net, held), held)))
    return r_squared(predict(net, held), held)
