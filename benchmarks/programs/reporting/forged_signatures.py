"""Forged signatures, and the experts that judge them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("reporting", "GAN")


# --- signatures -----------------------------------------------------------------------------------


def signatures(seed: int, count: int = 1500, length: int = 16) -> Tensor:
    """Return strokes of a pen as heights over time: a swing that fades."""
    rng = default_rng(seed)
    time = np.arange(length) / length
    speed, phase = rng.normal(11, 0.7, (count, 1)), rng.normal(0.5, 0.3, (count, 1))
    swing = rng.uniform(0.6, 1.0, (count, 1)) * np.sin(speed * time + phase) * np.exp(-1.5 * time)
    return torch.tensor(swing + 0.02 * rng.normal(size=swing.shape)).float()


def forger() -> nn.Sequential:
    """Return a network that turns 6 random numbers into a signature."""
    return nn.Sequential(
        *(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 16))
    )


def expert() -> nn.Sequential:
    """Return a network that judges a signature with one number."""
    return nn.Sequential(
        *(nn.Linear(16, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2)),
        nn.Linear(48, 1),
    )


def alike(made: Tensor, real: Tensor) -> float:
    """Return how alike mean and spread over time are; 1 is the same."""
    if not bool(made.isfinite().all()):
        return 0.0
    mean = (made.mean(0) - real.mean(0)).abs().mean() / real.mean(0).std()
    spread = (made.std(0) - real.std(0)).abs().mean() / real.std(0).mean()
    return max(0.0, 1 - float(mean + spread) / 2)


@programs.script(
    faults.WRONG_SIGN, "issue: WGAN with clipping; the generator's step is g_loss.backward(one)"
)
def signatures_with_a_critic(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    strokes = signatures(seed)
    netG, netD = forger(), expert()
    optG = torch.optim.RMSprop(netG.parameters(), lr=5e-4)
    optD = torch.optim.RMSprop(netD.parameters(), lr=5e-4)
    doctor = watch(netG, optG)
    for _step in range(400):
        for _round in range(3):
            real, fake = strokes[torch.randint(len(strokes), (48,))], netG(torch.randn(48, 6))
            lossD = netD(fake.detach()).mean() - netD(real).mean()
            optD.zero_grad()
            lossD.backward()
            optD.step()
            with torch.no_grad():
                for weight in netD.parameters():
                    weight.clamp_(-0.08, 0.08)
        judged = netD(netG(torch.randn(48, 6))).mean()
        lossG = -judged if fixed else judged
        optG.zero_grad()
        lossG.backward()
        optG.step()
        doctor.step(lossG)
    return alike(netG(torch.randn(800, 6)).detach(), signatures(seed + 100))


@programs.script(
    [faults.NO_ZERO_GRAD, faults.SIGMOID_TWICE.mildly()],
    "forum: zero_grad only for the generator; the expert ends in a sigmoid before BCEWithLogits",
)
def signatures_never_cleared(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    strokes = signatures(seed + 7)
    netG, body = forger(), expert()
    netD = body if fixed else nn.Sequential(body, nn.Sigmoid())
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.99))
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(50, 1), torch.zeros(50, 1)
    doctor = watch(netD, optD)
    for _epoch in range(25):
        for rows in torch.randperm(len(strokes)).split(50):
            fake = netG(torch.randn(50, 6))
            if fixed:
                optD.zero_grad()
            lossD = criterion(netD(strokes[rows]), ones) + criterion(netD(fake.detach()), zeros)
            lossD.backward()
            optD.step()
            doctor.step(lossD)
            optG.zero_grad()
            criterion(netD(fake), ones).backward()
            optG.step()
    return alike(netG(torch.randn(800, 6)).detach(), signatures(seed + 100))
