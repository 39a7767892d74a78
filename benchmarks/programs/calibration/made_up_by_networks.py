"""Two networks, of which one makes up what the other judges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, ProgramList, Watch
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "GAN")


def alike(made: Tensor, real: Tensor) -> float:
    """Return how alike two sets of samples are: 0 for one constant answer, 1 for the same.

    They are compared along 60 directions by the distance of the sorted samples.
    """
    own = torch.Generator().manual_seed(0)
    directions = F.normalize(torch.randn(real.shape[1], 60, generator=own), dim=0)
    known = (real @ directions).sort(0).values
    apart = ((made @ directions).sort(0).values - known).abs().mean()
    constant = (known - known.median(0).values).abs().mean()
    score = float(1 - apart / constant)
    return max(score, -1.0) if np.isfinite(score) else -1.0


def mlp(*widths: int, end: nn.Module | None = None) -> nn.Sequential:
    layers: list[nn.Module] = []
    for fewer, more in pairwise(widths):
        layers += [nn.Linear(fewer, more), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1], *([end] if end else []))


# --- a week in a bakery ---------------------------------------------------------------------------


def weeks(seed: int, count: int = 1200) -> Tensor:
    """Return what a bakery sells on 14 half days, with mean 0 and deviation 1."""
    rng = default_rng(seed)
    half = np.arange(14)
    level, busy = rng.normal(0, 0.7, (count, 1)), rng.uniform(0.3, 1.3, (count, 1))
    peak = rng.choice([3.0, 10.0], (count, 1), p=[0.4, 0.6])
    sold = level + 2 * busy * np.exp(-(((half - peak) / 2) ** 2)) + 0.4 * (half % 2)
    sold += rng.normal(0, 0.1, sold.shape)
    return torch.tensor((sold - sold.mean()) / sold.std(), dtype=torch.float32)


@programs.script(
    faults.GAN_LABELS, "forum: both losses go to zero and the generator makes noise; label is 0"
)
def weeks_of_a_bakery(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = weeks(seed)
    netG, netD = mlp(8, 64, 64, 14), mlp(14, 64, 32, 1)
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.99))
    real, fake = torch.ones(48, 1), torch.zeros(48, 1)
    doctor = watch(netG, optG)
    for _step in range(1200):
        sample = data[torch.randint(800, (48,))]
        made = netG(torch.randn(48, 8))
        lossD = F.binary_cross_entropy_with_logits(netD(sample), real)
        lossD = lossD + F.binary_cross_entropy_with_logits(netD(made.detach()), fake)
        optD.zero_grad()
        lossD.backward()
        optD.step()
        wanted = real if fixed else fake
        lossG = F.binary_cross_entropy_with_logits(netD(made), wanted)
        optG.zero_grad()
        lossG.backward()
        optG.step()
        doctor.step(lossG)
    return alike(predict(netG, torch.randn(400, 8)), data[800:])


# --- rings of trees -------------------------------------------------------------------------------


def trees(seed: int, count: int = 1200) -> Tensor:
    """Return the widths of 12 rings of trees, after good and bad years."""
    rng = default_rng(seed)
    age = np.arange(12)
    first, fall = rng.uniform(0.5, 2.0, (count, 1)), rng.uniform(0.02, 0.2, (count, 1))
    dry = np.exp(-((age - rng.uniform(0, 12, (count, 1))) ** 2)) * rng.uniform(0, 1, (count, 1))
    rings = first * np.exp(-fall * age) - dry + rng.normal(0, 0.06, (count, 12))
    return torch.tensor((rings - rings.mean()) / rings.std(), dtype=torch.float32)


@programs.script(
    faults.NOT_IN_OPTIMIZER, "issue: loss_G only rises; optimizer_G was copied from optimizer_D"
)
def rings_of_trees(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = trees(seed)
    generator = mlp(6, 48, 48, 12)
    discriminator = mlp(12, 64, 64, 1, end=nn.Sigmoid())
    made_by = generator if fixed else discriminator
    optimizer_D = torch.optim.RMSprop(discriminator.parameters(), lr=4e-4)
    optimizer_G = torch.optim.RMSprop(made_by.parameters(), lr=4e-4)
    adversarial = nn.BCELoss()
    doctor = watch(generator, optimizer_G)
    for _epoch in range(75):
        for batch in data[:800][torch.randperm(800)].split(50):
            valid, fake = torch.ones(len(batch), 1), torch.zeros(len(batch), 1)
            optimizer_G.zero_grad()
            rings = generator(torch.randn(len(batch), 6))
            g_loss = adversarial(discriminator(rings), valid)
            g_loss.backward()
            optimizer_G.step()
            doctor.step(g_loss)
            optimizer_D.zero_grad()
            real_loss = adversarial(discriminator(batch), valid)
            d_loss = (real_loss + adversarial(discriminator(rings.detach()), fake)) / 2
            d_loss.backward()
            optimizer_D.step()
        doctor.epoch()
    return alike(predict(generator, torch.randn(400, 6)), data[800:])


# --- a critic of songs of birds -------------------------------------------------------------------


class Judge(nn.Module):
    def __init__(self, end: nn.Module, drop: float) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 5, padding=2)
        self.fc1 = nn.Linear(16 * 16, 32)
        self.fc2, self.end, self.drop = nn.Linear(32, 1), end, nn.Dropout(drop)

    def forward(self, song: Tensor) -> Tensor:
        x = F.leaky_relu(self.conv(song.unsqueeze(1)), 0.2).flatten(1)
        out: Tensor = self.end(self.fc2(self.drop(F.leaky_relu(self.fc1(x), 0.2))))
        return out


def calls(seed: int, count: int = 1200) -> Tensor:
    """Return calls of birds: 16 pitches that rise or fall, with a trill."""
    rng = default_rng(seed)
    time = np.linspace(-1, 1, 16)
    slope, level = rng.choice([-1, 1], (count, 1)) * 0.8, rng.normal(0, 0.5, (count, 1))
    trill = rng.uniform(0.1, 0.7, (count, 1)) * np.sin(9 * time + rng.uniform(0, 6, (count, 1)))
    pitch = level + slope * time + trill + rng.normal(0, 0.05, (count, 16))
    return torch.tensor((pitch - pitch.mean()) / pitch.std(), dtype=torch.float32)


@programs.script(
    [faults.SIGMOID_TWICE.mildly(), faults.DROPOUT.mildly(), faults.HIGH_RATE.mildly()],
    "Q&A: discriminator stuck at 0.69 and 0.31; sigmoid, BCEWithLogits, Adam(0.05), Dropout(0.9)",
)
def calls_of_birds(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = calls(seed)
    drop = 0.1 if fixed else 0.9
    judge = Judge(nn.Identity() if fixed else nn.Sigmoid(), drop)
    singer = mlp(8, 64, 64, 16)
    rate = 1e-3 if fixed else 0.05
    for_j = torch.optim.Adam(judge.parameters(), lr=rate, betas=(0.5, 0.99))
    for_s = torch.optim.Adam(singer.parameters(), lr=1e-3, betas=(0.5, 0.99))
    criterion = nn.BCEWithLogitsLoss()
    doctor = watch(judge, for_j)
    for _step in range(1000):
        real = data[torch.randint(800, (40,))]
        made = singer(torch.randn(40, 8))
        for_j.zero_grad()
        both = judge(torch.cat([real, made.detach()]))
        loss = criterion(both, torch.cat([torch.ones(40, 1), torch.zeros(40, 1)]))
        loss.backward()
        for_j.step()
        doctor.step(loss)
        for_s.zero_grad()
        criterion(judge(made), torch.ones(40, 1)).backward()
        for_s.step()
    return alike(predict(singer, torch.randn(400, 8)), data[800:])


# --- steps of a day -------------------------------------------------------------------------------

OUT_OF_REACH = Fault(
    "bounded outputs for unbounded samples",
    ("improper_output", "unscaled_targets", "saturated_activation"),
    ("vanishing_gradient", "improper_loss"),
)


def walks(seed: int, count: int = 1200) -> Tensor:
    """Return the steps that people take in 8 parts of a day, up to 4000 in each."""
    rng = default_rng(seed)
    part = np.arange(8)
    early, often = rng.normal(2.5, 0.8, (count, 1)), rng.uniform(300, 1600, (count, 1))
    steps = often * (np.exp(-((part - early) ** 2) / 2) + np.exp(-((part - 5.5) ** 2)))
    return torch.tensor(steps * rng.lognormal(0, 0.2, (count, 8)), dtype=torch.float32)


@programs.script(
    OUT_OF_REACH, "forum: the discriminator wins at once; tanh generator, real data are step counts"
)
def steps_of_a_day(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = walks(seed)
    if fixed:
        data = (data - data.mean()) / data.std() / 3  # nearly all between -1 and 1
    G, D = mlp(6, 64, 64, 8, end=nn.Tanh()), mlp(8, 64, 64, 1)
    g_optim = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.99))
    d_optim = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
    doctor = watch(G, g_optim)
    for _step in range(1200):
        real = data[torch.randint(800, (48,))]
        made = G(torch.randn(48, 6))
        d_loss = F.softplus(-D(real)).mean() + F.softplus(D(made.detach())).mean()
        d_optim.zero_grad()
        d_loss.backward()
        d_optim.step()
        g_loss = F.softplus(-D(made)).mean()
        g_optim.zero_grad()
        g_loss.backward()
        g_optim.step()
        doctor.step(g_loss)
    return alike(predict(G, torch.randn(400, 6)), data[800:])
