"""Train a network that cannot learn. sickbay finds the problem, repairs it and trains again.

python examples/repair.py
"""

import torch
from torch import nn

import sickbay

torch.manual_seed(0)
torch.set_num_threads(1)

points = torch.rand(1200, 2) * 2 - 1
labels = (points.norm(dim=1) < 0.8).long()  # inside a circle, or not
train, held = (points[:1000], labels[:1000]), (points[1000:], labels[1000:])

layers = [part for _ in range(9) for part in (nn.Linear(32, 32), nn.Sigmoid())]
model = nn.Sequential(nn.Linear(2, 32), nn.Sigmoid(), *layers, nn.Linear(32, 2))

outcome = sickbay.fit(
    model,
    train,
    validation=held,
    loss=nn.CrossEntropyLoss(),
    optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
    epochs=30,
)
print(outcome.summary())
