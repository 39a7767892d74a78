"""Inject a fault into a healthy training loop and see whether, and when, sickbay finds it."""

import torch
from torch import nn

import sickbay

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is tiny
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
fault = sickbay.inject.parse("nan_gradient:0@50")

with (
    sickbay.watch(model, optimizer, every=1, on_finding="silent") as doctor,
    fault.into(model, optimizer) as injection,
):
    for _ in range(60):
        x = torch.randn(16, 8)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)

print(f"injected: {fault} at steps {injection.steps}")
for finding in doctor.findings:
    print(f"found:    {finding}")
