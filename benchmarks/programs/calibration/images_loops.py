"""Small images with a loop of their own, in which data, loss or schedule go wrong."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.images import Net, small_images
from benchmarks.programs.program import ProgramList, Watch
from benchmarks.programs.scores import accuracy

programs = ProgramList("calibration", "images")


@programs.script(faults.SHUFFLED_LABELS, "Q&A: shuffled X and y with two calls, accuracy is chance")
def digits_shuffled(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = small_images(seed)
    order = torch.randperm(len(data.x))
    x = data.x[order]
    y = data.y[order] if fixed else data.y[torch.randperm(len(data.y))]
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(20):
        for start in range(0, len(x), 32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[start : start + 32]), y[start : start + 32])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test, data.y_test)(model))
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    faults.MIXED_SAMPLES, "Q&A: images came as (8, 8, N), reshape in place of permute mixes them"
)
def digits_reshaped(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = small_images(seed)
    stacked = data.x[:, 0].permute(1, 2, 0)  # as an old .mat file holds them
    held_out = data.x_test[:, 0].permute(1, 2, 0)
    if fixed:
        x, x_test = stacked.permute(2, 0, 1), held_out.permute(2, 0, 1)
    else:
        x, x_test = stacked.reshape(-1, 8, 8), held_out.reshape(-1, 8, 8)
    x, x_test = x.unsqueeze(1), x_test.unsqueeze(1)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(20):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(x_test, data.y_test)(model)


@programs.script(
    faults.ARGMAX, "forum: loss on the argmax, with requires_grad set to silence the error"
)
def digits_argmax(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss() if fixed else nn.L1Loss()
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(len(data.x)).split(32):
            output = model(data.x[rows])
            if fixed:
                loss = criterion(output, data.y[rows])
            else:
                guess = output.argmax(dim=1).float().requires_grad_()
                loss = criterion(guess, data.y[rows].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    faults.HIGH_RATE, "issue: fine during warm-up, then the loss goes back to 2.3 and stays there"
)
def digits_warm_up(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net(norm=True)
    peak = 2e-3 if fixed else 0.3
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 200))
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            schedule.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    [faults.CONSTANT_INPUTS, faults.LOW_RATE],
    "Q&A: pixels divided by 255 twice and kept as uint8, with lr=1e-6",
)
def digits_blank(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = small_images(seed)
    scale = (lambda x: x) if fixed else (lambda x: (x / 255).to(torch.uint8).float())
    x, x_test = scale(data.x), scale(data.x_test)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 1e-6)
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(x_test, data.y_test)(model)
