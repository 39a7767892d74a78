"""Record a run in a folder and read it back. Another process could read it during the run."""

import tempfile
from pathlib import Path

import torch
from torch import nn

import sickbay

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

with tempfile.TemporaryDirectory() as folder:
    with sickbay.watch(model, optimizer, every=5, chart=Path(folder) / "run") as doctor:
        for _ in range(20):
            x = torch.randn(16, 8)
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_loss=loss)

    history = sickbay.Chart.open(Path(folder) / "run").history()
    first, last = history.first("loss"), history.latest("loss")
    print(f"{history.step + 1} steps, loss {first:.2f} to {last:.2f}")
    for table in history.tables("gradient", 2):
        norms = dict(zip(table.names, table.column("norm").round(3).tolist(), strict=True))
        print(f"step {table.step}: gradient norms {norms}")
