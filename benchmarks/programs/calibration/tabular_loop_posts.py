"""Tables of measurements and a class, with a loop written by hand."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("calibration", "tabular")


def seedling_rows(count: int) -> tuple[Tensor, Tensor]:
    """Return standardised measures of seedlings in a greenhouse, and one of five pests."""
    own = torch.Generator().manual_seed(12)
    direction = torch.randn(10, 5, generator=own) / 10**0.5
    bend = torch.randn(10, 5, generator=own) / 10**0.5
    x = torch.randn(count, 10)
    pull = 2 * x @ direction + 1.5 * (x @ bend).abs() - 1.2
    return x, (pull + 0.1 * torch.randn(count, 5)).argmax(1)


class PestNet(nn.Module):
    """A multilayer perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU())
        self.head = nn.Linear(40, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


@programs.script(
    [faults.CLIPPING.mildly(), faults.SCHEDULER],
    "forum: clip_grad_norm_ with 0.01 copied from a config, and StepLR stepped for every batch",
)
def greenhouse_pests(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, pest = seedling_rows(7000)
    loader = DataLoader(TensorDataset(x[:6000], pest[:6000]), 60, shuffle=True)
    model = PestNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.3)
    doctor = watch(model, optimizer)
    for _epoch in range(18):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0 if fixed else 0.01)
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                scheduler.step()
        if fixed:
            scheduler.step()
        with torch.no_grad():
            val_loss = F.cross_entropy(model(x[6000:]), pest[6000:])
        doctor.epoch(val_loss=float(val_loss))
    with torch.no_grad():
        return float((model(x[6000:]).argmax(1) == pest[6000:]).double().mean())


def transfers(count: int) -> dict[str, Tensor]:
    """Return money transfers, and which of them were stopped by hand."""
    x = torch.randn(count, 6)
    night = (torch.rand(count, 1) < 0.4).float()
    odd = x[:, :1] + x[:, 1:2] * (2 * night - 1)
    clear = odd.abs().squeeze(1) > 0.3
    return {
        "features": torch.cat([x, (night - 0.4) / 0.49], 1)[clear],
        "stopped": (odd > 0).float()[clear],
    }


def in_batches(table: dict[str, Tensor], size: int) -> Iterator[dict[str, Tensor]]:
    for rows in torch.randperm(len(table["stopped"])).split(size):
        yield {name: column[rows] for name, column in table.items()}


@programs.script(
    faults.NO_EPSILON,
    "Q&A: own log loss in a loop with dict batches is NaN after an epoch or two",
)
def stopped_transfers(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    table, test = transfers(2000), transfers(1000)
    model = nn.Sequential(
        nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid()
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for batch in in_batches(table, 32):
            p, y = model(batch["features"]), batch["stopped"]
            p = p.clamp(1e-6, 1 - 1e-6) if fixed else p
            loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        called = (model(test["features"]) > 0.5).float()
    return float((called == test["stopped"]).double().mean())
