"""Treat a training loop while it runs: two things go wrong in it, and it still learns."""

import torch
from torch import nn

import sickbay

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is tiny
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
rule = torch.randn(8, 1)

doctor = sickbay.watch(model, optimizer, on_finding="treat")
for step in range(300):
    x = torch.randn(64, 8)
    y = x @ rule
    if step == 60:
        x[0, 0] = torch.nan  # a broken sample
    if step == 150:
        optimizer.param_groups[0]["lr"] *= 300  # a typo, say
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    doctor.step(loss)

print(f"last loss {loss:.3f}")
for treatment in doctor.treatments:
    print(treatment.step, treatment.remedy)
