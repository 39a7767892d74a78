"""Generative adversarial networks on points in the plane."""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("calibration", "GAN")


def points(count: int) -> Tensor:
    """Return points on a ring around (2, 2)."""
    angle = 2 * pi * torch.rand(count)
    ring = torch.stack([angle.cos(), angle.sin()], 1)
    return 2 + ring + 0.05 * torch.randn(count, 2)


def closeness(generator: nn.Module) -> float:
    """Return 1 if generated points lie where real ones do, and less the farther they are."""
    with torch.no_grad():
        made, real = generator(torch.randn(500, 8)), points(500)
    apart = torch.cdist(made, real)
    within = torch.cdist(real, real).mean()
    energy = 2 * apart.mean() - within - torch.cdist(made, made).mean()
    return float(1 - (energy / within).clamp(0, 2).nan_to_num(2.0))


def make_generator() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2)
    )


def make_discriminator(*end: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2),
        nn.Linear(64, 1), *end,
    )  # fmt: skip


@programs.script(
    faults.DETACHED, "issue: fake.detach() in the generator's step too; it never changes"
)
def generator_detached(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    generator, discriminator = make_generator(), make_discriminator()
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    doctor = watch(generator, g_optimizer)
    ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
    for _step in range(1500):
        fake = generator(torch.randn(64, 8))
        d_loss = F.binary_cross_entropy_with_logits(discriminator(points(64)), ones)
        d_loss = d_loss + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), zeros)
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()
        judged = discriminator(fake if fixed else fake.detach())
        g_loss = F.binary_cross_entropy_with_logits(judged, ones)
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        doctor.step(g_loss)
    return closeness(generator)


@programs.script(
    faults.GAN_LABELS, "issue: the generator is trained with label 0; its loss is 0 at once"
)
def generator_wrong_label(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    netG, netD = make_generator(), make_discriminator(nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizerG = torch.optim.Adam(netG.parameters(), lr=5e-4, betas=(0.5, 0.999))
    optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
    doctor = watch(netG, optimizerG)
    for _step in range(1500):
        label = torch.full((64, 1), 1.0)
        netD.zero_grad()
        criterion(netD(points(64)), label).backward()
        fake = netG(torch.randn(64, 8))
        label.fill_(0.0)
        criterion(netD(fake.detach()), label).backward()
        optimizerD.step()
        netG.zero_grad()
        if fixed:
            label.fill_(1.0)
        g_loss = criterion(netD(fake), label)
        g_loss.backward()
        optimizerG.step()
        doctor.step(g_loss)
    return closeness(netG)


@programs.script(
    [faults.HIGH_RATE, faults.SIGMOID_TWICE.mildly()],
    "forum: D loss is 0 after some steps; Adam(0.1) and a sigmoid before the logits loss",
)
def discriminator_high_rate(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    generator = make_generator()
    discriminator = make_discriminator() if fixed else make_discriminator(nn.Sigmoid())
    rate = 1e-3 if fixed else 0.1
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=rate, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    doctor = watch(discriminator, d_optimizer)
    both = torch.cat([torch.ones(64, 1), torch.zeros(64, 1)])
    for _step in range(1500):
        fake = generator(torch.randn(64, 8))
        d_loss = criterion(discriminator(torch.cat([points(64), fake.detach()])), both)
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()
        doctor.step(d_loss)
        g_optimizer.zero_grad()
        criterion(discriminator(fake), torch.ones(64, 1)).backward()
        g_optimizer.step()
    return closeness(generator)
