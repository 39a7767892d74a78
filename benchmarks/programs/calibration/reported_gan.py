"""Pictures made by two networks that play against each other."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("calibration", "GAN")


def moons(seed: int, count: int = 1500, size: int = 6) -> Tensor:
    """Return pictures of a soft light in the upper left, of varying place and strength."""
    rng = default_rng(seed)
    across, down = rng.normal(1.8, 0.5, (2, count, 1, 1))
    grid = np.arange(size)
    away = (grid[None, None] - across) ** 2 + (grid[None, :, None] - down) ** 2
    x = rng.uniform(0.6, 1.0, (count, 1, 1)) * np.exp(-away / 3) * 2 - 1
    return torch.as_tensor(x.reshape(count, -1), dtype=torch.float32)


def likeness(made: Tensor, real: Tensor) -> float:
    """Return how alike the mean picture and the spread of each pixel are; 1 is the same."""
    if not bool(made.isfinite().all()):
        return 0.0
    mean = (made.mean(0) - real.mean(0)).abs().mean() / real.mean(0).std()
    spread = (made.std(0) - real.std(0)).abs().mean() / real.std(0).mean()
    return max(0.0, 1 - float(mean + spread) / 2)


def generator() -> nn.Sequential:
    """Return a network that turns 8 random numbers into a picture."""
    return nn.Sequential(
        *(nn.Linear(8, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2)),
        *(nn.Linear(48, 36), nn.Tanh()),
    )


def discriminator() -> nn.Sequential:
    """Return a network that says how real a picture is, as a logit."""
    return nn.Sequential(
        *(nn.Linear(36, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2)),
        nn.Linear(48, 1),
    )


@programs.script(
    faults.GAN_LABELS, "issue: the discriminator gets ones for both, real and made-up pictures"
)
def moons_all_real(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    pictures = moons(seed)
    netG, netD = generator(), discriminator()
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.99))
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(50, 1), torch.zeros(50, 1)
    doctor = watch(netD, optD)
    for _epoch in range(30):
        for rows in torch.randperm(len(pictures)).split(50):
            fake = netG(torch.randn(50, 8))
            optD.zero_grad()
            for_fake = zeros if fixed else ones
            lossD = criterion(netD(pictures[rows]), ones * 0.9) + criterion(
                netD(fake.detach()), for_fake
            )
            lossD.backward()
            optD.step()
            optG.zero_grad()
            criterion(netD(fake), ones).backward()
            optG.step()
            doctor.step(lossD)
    return likeness(netG(torch.randn(800, 8)).detach(), moons(seed + 100))


@programs.script(
    faults.WRONG_SIGN, "forum: log losses by hand; the generator helps the discriminator"
)
def moons_by_hand(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    pictures = moons(seed + 5)
    netG, netD = generator(), discriminator()
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.99))

    def log(share: Tensor) -> Tensor:
        return torch.log(share + 1e-6)

    doctor = watch(netG, optG)
    for _step in range(1000):
        rows = torch.randint(len(pictures), (40,))
        fake = netG(torch.randn(40, 8))
        real_share, fake_share = netD(pictures[rows]).sigmoid(), netD(fake.detach()).sigmoid()
        lossD = -(log(real_share) + log(1 - fake_share)).mean()
        optD.zero_grad()
        lossD.backward()
        optD.step()
        judged = F.sigmoid(netD(fake))
        lossG = -log(judged).mean() if fixed else log(judged).mean()
        optG.zero_grad()
        lossG.backward()
        optG.step()
        doctor.step(lossG)
    return likeness(netG(torch.randn(800, 8)).detach(), moons(seed + 100))
