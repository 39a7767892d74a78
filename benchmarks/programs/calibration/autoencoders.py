"""Autoencoders: they should give back what they get."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, bundled
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained, r_squared

programs = ProgramList("calibration", "autoencoders")


def pixels(seed: int, largest: float = 1.0) -> Split:
    """Return flat images of digits, with pixels from 0 to `largest`."""
    data = bundled("digits", seed)
    return Split(data.x / 16 * largest, data.y, data.x_test / 16 * largest, data.y_test)


def autoencoder(
    *end: nn.Module, hidden: type[nn.Module] = nn.ReLU, code: int = 16
) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(64, 64), hidden(), nn.Linear(64, code), hidden(),
        nn.Linear(code, 64), hidden(), nn.Linear(64, 64), *end,
    )  # fmt: skip


def reconstructs(data: Split) -> dict[str, Any]:
    return {"score": explained(data.x_test, data.x_test), "constant": 0.0}


@programs.supervised(
    faults.BOUNDED_OUTPUT.mildly(), "Q&A: sigmoid decoder on standardised images, grey pictures"
)
def sigmoid_on_standardised(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    model = autoencoder() if fixed else autoencoder(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.x),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=40,
        **reconstructs(data),
    )


@programs.supervised(
    faults.BOUNDED_OUTPUT, "Q&A: pixels up to 255 against a sigmoid, all outputs 1"
)
def sigmoid_on_bytes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = pixels(seed, 1.0 if fixed else 255.0)
    model = autoencoder(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.x),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        epochs=40,
        **reconstructs(data),
    )


def strongly_negative(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.uniform_(module.weight, -0.3, 0.0)


@programs.supervised(
    faults.DEAD_RELU, "forum: every reconstruction is the same; uniform_ from -a to 0"
)
def same_picture(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = pixels(seed)
    model = autoencoder()
    if not fixed:
        model.apply(strongly_negative)
    return Parts(
        model=model,
        data=(data.x, data.x),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=40,
        **reconstructs(data),
    )


@programs.supervised(faults.SMALL.mildly(), "Q&A: blurred digits from a code of a single number")
def code_of_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = pixels(seed)
    model = autoencoder(code=16 if fixed else 1, hidden=nn.ELU)
    return Parts(
        model=model,
        data=(data.x, data.x),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=40,
        **reconstructs(data),
    )


class Variational(nn.Module):
    """A variational autoencoder that returns the picture, the mean and the log variance."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(64, 8), nn.Linear(64, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        noise = torch.randn_like(mean) if self.training else torch.zeros_like(mean)
        code = mean + noise * torch.exp(0.5 * log_variance)
        return torch.sigmoid(self.decoder(code)), mean, log_variance


@programs.script(
    faults.WRONG_TERM, "issue: VAE draws the mean digit; KL is summed, the reconstruction averaged"
)
def variational_collapse(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = pixels(seed)
    model = Variational()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(40):
        for rows in torch.randperm(len(data.x)).split(32):
            picture, mean, log_variance = model(data.x[rows])
            spread = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
            error = F.mse_loss(picture, data.x[rows], reduction="sum" if fixed else "mean")
            loss = error + (0.1 if fixed else 1.0) * spread
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    model.eval()
    with torch.no_grad():
        return r_squared(model(data.x_test)[0], data.x_test)
