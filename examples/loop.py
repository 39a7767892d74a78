"""Watch a training loop. The network cannot learn, and sickbay says why after three steps."""

import torch
from torch import nn

import sickbay

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is tiny
layers = [nn.Linear(2, 64), nn.Sigmoid()]
for _ in range(10):
    layers += [nn.Linear(64, 64), nn.Sigmoid()]
model = nn.Sequential(*layers, nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
points = torch.randn(6400, 2)
labels = (points.norm(dim=1, keepdim=True) > 1.2).float()
batches = zip(points.chunk(100), labels.chunk(100), strict=True)

doctor = sickbay.watch(model, optimizer)
for x, y in batches:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    doctor.step(loss)
