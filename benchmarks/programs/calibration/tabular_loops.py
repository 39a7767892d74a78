"""Tables once more, with a loop of their own."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.tabular import Churn
from benchmarks.programs.calibration.tabular_training import Plain
from benchmarks.programs.data import bundled, customers, rings
from benchmarks.programs.program import ProgramList, Watch
from benchmarks.programs.scores import accuracy

programs = ProgramList("calibration", "tabular")


@programs.script(faults.CLIPPING, "forum: clip_grad_norm_ with 1e-6 taken from a config by mistake")
def churn_clipping(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    model = Churn(nn.Identity())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(data.x[rows]).squeeze(1), data.y[rows].float())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0 if fixed else 1e-6)
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(faults.NO_ZERO_GRAD, "forum: loss gets worse, zero_grad is commented out")
def pen_strokes_no_zero_grad(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _epoch in range(40):
        for rows in torch.randperm(len(data.x)).split(32):
            if fixed:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    faults.NOT_IN_OPTIMIZER, "forum: the optimizer holds a model that was made anew later"
)
def rings_optimizer_of_an_old_model(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = rings(seed)
    model = Plain(64, activate=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if not fixed:
        model = Plain(64, activate=True)  # a fresh start for another try
    doctor = watch(model, optimizer)
    for _epoch in range(30):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(accuracy=accuracy(data.x_test, data.y_test)(model))
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    faults.FROZEN, "forum: everything has requires_grad=False; loss.requires_grad_() 'helps'"
)
def churn_all_frozen(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    model = Churn(nn.Identity())
    if not fixed:
        for parameter in model.parameters():
            parameter.requires_grad = False
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(
                model(data.x[rows]).squeeze(1), data.y[rows].float()
            )
            if not fixed:
                loss.requires_grad_()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(faults.CONSTANT_INPUTS, "Q&A: integer division while scaling leaves only zeros")
def churn_all_zero(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = customers(seed)
    largest = data.x.max(0).values + 1
    scale = (lambda x: x / largest) if fixed else (lambda x: x // largest)
    x, x_test = scale(data.x), scale(data.x_test)
    model = Churn(nn.Identity())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(30):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(
                model(x[rows]).squeeze(1), data.y[rows].float()
            )
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(x_test, data.y_test)(model)
