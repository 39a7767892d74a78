"""Programs with two or three faults at once, as first tries often are."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.images import small_images
from benchmarks.programs.calibration.regression import in_units, network, summed_squares
from benchmarks.programs.calibration.tabular import Churn, scored
from benchmarks.programs.calibration.text import Reader
from benchmarks.programs.data import bundled, customers, houses, reviews
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained

programs = ProgramList("calibration", "tabular")


@programs.supervised(
    [faults.SOFTMAX_TWICE, faults.DROPOUT, faults.LOW_RATE.mildly()],
    "forum: digits at 15 %: softmax, dropout of 0.9 and a small rate",
    kind="images",
)
def digits_three(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    drop = 0.2 if fixed else 0.9
    layers: list[nn.Module] = [nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(drop)]
    layers += [nn.Linear(64, 64), nn.ReLU(), nn.Dropout(drop), nn.Linear(64, 10)]
    model = nn.Sequential(*layers, *([] if fixed else [nn.Softmax(dim=1)]))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 1e-4),
        epochs=30,
        **scored(data),
    )


@programs.supervised(
    [faults.RAW_INPUTS, faults.RAW_TARGETS, faults.RELU_OUTPUT.mildly()],
    "Q&A: house prices, ReLU at the end 'as prices are positive', all predictions are 0",
    kind="regression",
)
def houses_three(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed) if fixed else houses(seed)
    model = network(5) if fixed else network(5, nn.ReLU())
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


@programs.supervised(
    [faults.BROADCAST, faults.SUM], "issue: own squared error: a sum over an N x N table",
    kind="regression",
)  # fmt: skip
def houses_sum_broadcast(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1) if fixed else data.y),
        loss=nn.MSELoss() if fixed else summed_squares,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


@programs.supervised(
    [faults.DEEP_SIGMOID, faults.SIGNED_LABELS.mildly()],
    "Q&A: labels of -1 and 1, sigmoids all the way, BCEWithLogitsLoss",
)
def churn_sigmoid_signed(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = customers(seed).standardised()
    middle = nn.ReLU if fixed else nn.Sigmoid
    model = nn.Sequential(nn.Linear(6, 32), middle())
    for _ in range(5):
        model.extend([nn.Linear(32, 32), middle()])
    model.append(nn.Linear(32, 1))
    labels = data.y.float() if fixed else 2 * data.y.float() - 1
    return Parts(
        model=model,
        data=(data.x, labels.unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=25,
        **scored(data),
    )


@programs.supervised(
    [faults.DECAY, faults.LOW_RATE], "forum: weight_decay=1 and lr=1e-5 in the same optimizer"
)
def pen_strokes_decay_slow(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    rate, decay = (1e-3, 1e-4) if fixed else (1e-5, 1.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay),
        epochs=40,
        **scored(data),
    )


@programs.supervised(
    [faults.HIGH_RATE, faults.BATCH_OF_ONE], "forum: an LSTM and one review at a time, SGD(1.0)",
    kind="text",
)  # fmt: skip
def reviews_one_by_one(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = reviews(seed, count=1500)
    model = Reader()
    optimizer: torch.optim.Optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    if not fixed:
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=optimizer,
        epochs=12 if fixed else 1,
        batch_size=32 if fixed else 1,
        **scored(data),
    )


@programs.script(
    [faults.NAN_INPUTS, faults.RAW_INPUTS],
    "Q&A: missing incomes are NaN, so is the loss from step 1",
)
def churn_missing_values(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = customers(seed)
    data.x[torch.rand(len(data.x)) < 0.03, 2] = torch.nan
    x, x_test = data.x, data.x_test
    if fixed:
        x = x.where(x.isfinite(), x[x.isfinite().all(1)].mean(0))
        x_test = (x_test - x.mean(0)) / x.std(0)
        x = (x - x.mean(0)) / x.std(0)
    model = Churn(nn.Identity())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(20):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(
                model(x[rows]).squeeze(1), data.y[rows].float()
            )
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(x_test, data.y_test)(model)
