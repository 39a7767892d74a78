"""Fine-tuning: a network that has learnt one thing learns another."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.images import Net, small_images
from benchmarks.programs.calibration.tabular import scored
from benchmarks.programs.data import Split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy

programs = ProgramList("calibration", "fine-tuning")


def new_task(seed: int, count: int = 300) -> Split:
    """Return a few images and three kinds of numbers: another task than it was trained for."""
    data = small_images(seed + 100)
    kinds = torch.tensor([0, 1, 2, 2, 0, 2, 1, 2, 0, 1])  # other; square or cube; prime
    return Split(data.x[:count], kinds[data.y[:count]], data.x_test, kinds[data.y_test])


def pretrained(seed: int) -> Net:
    """Return a network that has learnt the ten digits."""
    torch.manual_seed(seed)
    data, model = small_images(seed), Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _epoch in range(4):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()
    return model


@programs.script(
    faults.FROZEN, "forum: froze the model after the new head was put in; nothing trains"
)
def head_frozen_too(watch: Watch, fixed: bool, seed: int) -> float:
    model, data = pretrained(seed), new_task(seed)
    if fixed:
        model.requires_grad_(False)
    model.fc2 = nn.Linear(64, 3)
    if not fixed:
        model.requires_grad_(False)
        model.conv1.requires_grad_()  # else backward() raises
    wanted = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(wanted, lr=5e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(60):
        for rows in torch.randperm(len(data.x)).split(16):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    faults.NOT_IN_OPTIMIZER.mildly(), "issue: the optimizer was made before model.fc was replaced"
)
def head_after_optimizer(watch: Watch, fixed: bool, seed: int) -> float:
    model, data = pretrained(seed), new_task(seed)
    if fixed:
        model.fc2 = nn.Linear(64, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if not fixed:
        model.fc2 = nn.Linear(64, 3)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(len(data.x)).split(16):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test, data.y_test)(model))
    return accuracy(data.x_test, data.y_test)(model)


@programs.supervised(faults.HIGH_RATE, "forum: fine-tuning with the rate of training from scratch")
def rate_forgets(fixed: bool, seed: int) -> Parts:
    model, data = pretrained(seed), new_task(seed)
    model.fc2 = nn.Linear(64, 3)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.05),
        epochs=30,
        batch_size=16,
        **scored(data),
    )


@programs.supervised(
    [faults.SOFTMAX_TWICE, faults.FROZEN],
    "Q&A: frozen first layers, never trained, and softmax twice",
)
def frozen_from_scratch(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    body = Net()
    if not fixed:
        for name in ("conv1", "conv2", "fc1"):
            getattr(body, name).requires_grad_(False)  # as in a tutorial, but nothing was loaded
    model = body if fixed else nn.Sequential(body, nn.Softmax(dim=1))
    wanted = [each for each in model.parameters() if each.requires_grad]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(wanted, lr=1e-3),
        epochs=15,
        **scored(data),
    )
