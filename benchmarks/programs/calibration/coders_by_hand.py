"""Programs that squeeze and restore, with loops by hand: letters, and days of weather."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch
from benchmarks.programs.scores import predict, r_squared

programs = ProgramList("calibration", "autoencoders")


# --- letters of a typewriter ----------------------------------------------------------------------


def letters(seed: int, count: int = 1300) -> Tensor:
    """Return strokes on paper of 9 x 9 points: two lines each, from 0 to 1."""
    rng = default_rng(seed)
    rows, columns = np.mgrid[:9, :9] - 4.0
    paper = np.zeros((count, 81), np.float32)
    for sheet in paper:
        ink = np.zeros((9, 9))
        for turned in (rng.uniform(0, 1.2), rng.uniform(1.6, 2.8)):
            apart = np.abs(rows * np.cos(turned) - columns * np.sin(turned))
            ink = np.maximum(ink, np.exp(-((apart / 1.1) ** 2)))
        sheet[:] = ink.ravel()
    return torch.tensor(paper)


class LetterVAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(81, 96), nn.ReLU())
        self.mu, self.logvar = nn.Linear(96, 4), nn.Linear(96, 4)
        self.dec = nn.Sequential(nn.Linear(4, 96), nn.ReLU(), nn.Linear(96, 81))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.enc(x)
        mu, logvar = self.mu(hidden), self.logvar(hidden)
        code = mu + torch.randn_like(mu) * torch.exp(logvar / 2)
        return self.dec(code if self.training else mu), mu, logvar


@programs.script(
    faults.WRONG_TERM, "issue: the VAE draws the same grey cross for every letter; KL is 1e-6"
)
def grey_letters(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    paper = letters(seed)
    train, test = paper[:900], paper[900:]
    vae = LetterVAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
    doctor = watch(vae, optimizer)
    for _epoch in range(50):
        for batch in train[torch.randperm(len(train))].split(30):
            logits, mu, logvar = vae(2 * batch - 1)
            restored = F.binary_cross_entropy_with_logits(logits, batch, reduction="none")
            kl = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum()
            loss = (restored.sum() + kl) / len(batch) if fixed else restored.mean() + kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    vae.eval()
    with torch.no_grad():
        return r_squared(torch.sigmoid(vae(2 * test - 1)[0]), test)


# --- days of weather ------------------------------------------------------------------------------


def days(seed: int, count: int = 1000) -> Tensor:
    """Return temperature and wind for each hour of a day, with mean 0 and deviation 1."""
    rng = default_rng(seed)
    hours = np.arange(24)
    warm, swing, peak = rng.normal(0, 1, (count, 1)), rng.uniform(0.3, 1.2, (count, 1)), 15
    heat = warm + swing * np.cos((hours - peak - rng.normal(0, 1.5, (count, 1))) * np.pi / 12)
    front = rng.uniform(4, 20, (count, 1))
    wind = np.tanh((hours - front) / 2) * rng.normal(0, 0.8, (count, 1)) + 0.3 * warm
    both = np.concatenate([heat, wind], 1) + rng.normal(0, 0.08, (count, 48))
    return torch.tensor((both - both.mean()) / both.std(), dtype=torch.float32)


@programs.script(
    faults.NOT_IN_OPTIMIZER,
    "forum: encoder and decoder are two modules, and only the first of them seems to learn",
)
def weather_of_a_day(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = days(seed)
    encoder = nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, 8))
    decoder = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 48))
    both = nn.Sequential(encoder, decoder)
    trained = both if fixed else encoder
    optimizer = torch.optim.AdamW(trained.parameters(), lr=3e-3)
    doctor = watch(both, optimizer)
    for _epoch in range(50):
        for batch in data[:700][torch.randperm(700)].split(35):
            optimizer.zero_grad()
            loss = F.mse_loss(decoder(encoder(batch)), batch)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return r_squared(predict(both, data[700:]), data[700:])
