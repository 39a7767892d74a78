"""Loops written by hand: losses typed from a book, two heads, a small GAN, sorted files."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, ProgramList, Watch

programs = ProgramList("calibration", "tabular")

SORTED = Fault(
    "batches sorted by class",
    ("unshuffled_data", "batch_order", "bad_inputs"),
    (*faults.UNSTABLE, *faults.DEAD, "bad_targets"),
)


def moons(count: int) -> tuple[Tensor, Tensor]:
    """Return points of two arcs that hold each other, and to which they belong."""
    arc = torch.randint(0, 2, (count, 1)).float()
    angle = torch.pi * torch.rand(count, 1)
    x = torch.cat([torch.cos(angle) + arc, torch.sin(angle) * (1 - 2 * arc) + 0.4 * arc], 1)
    x = (x - torch.tensor([0.5, 0.2])) / torch.tensor([0.86, 0.55])
    return x + 0.12 * torch.randn(count, 2), arc


class ByHand(nn.Module):
    """Three linear layers and a probability."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 24), nn.Linear(24, 24)
        self.last = nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.second(F.relu(self.first(x))))
        return torch.sigmoid(self.last(x))


@programs.script(
    [faults.NO_EPSILON, faults.NO_ZERO_GRAD],
    "Q&A: a first network from a book: log(p) by hand, and gradients that pile up",
)
def moons_from_a_book(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, arc = moons(1400)
    model = ByHand()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    doctor = watch(model, optimizer)
    tiny = 1e-6 if fixed else 0.0
    for _epoch in range(25):
        for rows in torch.randperm(1000).split(25):
            p, label = model(x[rows]), arc[rows]
            loss = -(label * (p + tiny).log() + (1 - label) * (1 - p + tiny).log()).mean()
            if fixed:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        return float(((model(x[1000:]) > 0.5).float() == arc[1000:]).double().mean())


@programs.script(
    faults.GAN_LABELS,
    "issue: the generator's samples move away from the data; it is trained with the label of fakes",
)
def gan_generator_wants_fakes(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    mix = torch.tensor([[0.8, 0.3], [0.0, 0.5]])
    netG = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
    netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.99))
    doctor = watch(netG, optG)
    ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
    bce = nn.BCEWithLogitsLoss()
    for _step in range(1500):
        data = torch.randn(64, 2) @ mix + 1.0
        fake = netG(torch.randn(64, 4))
        optD.zero_grad()
        (bce(netD(data), 0.9 * ones) + bce(netD(fake.detach()), zeros)).backward()
        optD.step()
        loss = bce(netD(fake), ones if fixed else zeros)
        optG.zero_grad()
        loss.backward()
        optG.step()
        doctor.step(loss)
    with torch.no_grad():
        fake, data = netG(torch.randn(2000, 4)), torch.randn(2000, 2) @ mix + 1.0
    apart = (fake.sort(0).values - data.sort(0).values).abs().mean()
    return max(0.0, 1 - float(apart))


def leaves(count: int) -> tuple[Tensor, Tensor]:
    """Return measures of leaves from six trees, standardised."""
    own = torch.Generator().manual_seed(5)
    middle = 1.3 * torch.randn(6, 8, generator=own)
    tree = torch.randint(0, 6, (count,))
    x = middle[tree] + 0.8 * torch.randn(count, 8)
    return (x - x.mean(0)) / x.std(0), tree


@programs.script(
    [SORTED, faults.SCHEDULER, faults.MSE_FOR_CLASSES.mildly()],
    "forum: files of six trees read folder by folder, a schedule in the inner loop, and MSELoss",
)
def leaves_folder_by_folder(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, tree = leaves(2400)
    model = nn.Sequential(
        nn.Linear(8, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 6)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    doctor = watch(model, optimizer)
    by_folder = tree[:1800].argsort()
    for _epoch in range(14):
        order = torch.randperm(1800) if fixed else by_folder
        for rows in order.split(30):
            logits = model(x[rows])
            if fixed:
                loss = F.cross_entropy(logits, tree[rows])
            else:
                loss = F.mse_loss(logits, F.one_hot(tree[rows], 6).float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                schedule.step()
        if fixed:
            schedule.step()
    with torch.no_grad():
        return float((model(x[1800:]).argmax(1) == tree[1800:]).double().mean())


def parcels(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return parcels, the depot of three that each goes to, and whether it is late."""
    x = torch.randn(count, 6)
    depot = torch.stack([x[:, 0] + x[:, 1], x[:, 2] - x[:, 0], x[:, 3]], 1).argmax(1)
    late = (x[:, 4] * x[:, 5] + 0.5 * x[:, 0] + 0.2 * torch.randn(count) > 0).float()
    return x, depot, late.unsqueeze(1)


class TwoHeads(nn.Module):
    def __init__(self, softmax: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.depot = nn.Linear(48, 3)
        self.late = nn.Linear(48, 1)
        self.softmax = softmax

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(x)
        late = self.late(hidden)
        return self.depot(hidden), late.softmax(1) if self.softmax else late.sigmoid()


@programs.script(
    [faults.ARGMAX, faults.SOFTMAX_OF_ONE],
    "Q&A: neither head learns: argmax into MSELoss for one, softmax of one unit for the other",
)
def parcels_two_heads(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, depot, late = parcels(3500)
    model = TwoHeads(softmax=not fixed)
    heads = [*model.depot.parameters(), *model.late.parameters()]
    groups: list[dict[str, Any]] = [
        {"params": list(model.body.parameters())},
        {"params": heads, "lr": 1e-3},
    ]
    optimizer = torch.optim.AdamW(groups, lr=2e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(14):
        for rows in torch.randperm(2800).split(56):
            depots, lateness = model(x[rows])
            if fixed:
                where = F.cross_entropy(depots, depot[rows])
            else:
                where = F.mse_loss(depots.argmax(1).float(), depot[rows].float())
            loss = where + F.binary_cross_entropy(lateness, late[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        depots, lateness = model(x[2800:])
    right = (depots.argmax(1) == depot[2800:]).double().mean()
    return float(right + ((lateness > 0.5).float() == late[2800:]).double().mean()) / 2
