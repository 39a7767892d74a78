"""Numbers to predict: prices, yields and the like."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, bundled, houses
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "regression")


def diabetes(seed: int) -> Split:
    """Return the diabetes data with standardised inputs and targets."""
    data = bundled("diabetes", seed).standardised()
    mean, spread = data.y.mean(), data.y.std()
    return Split(data.x, (data.y - mean) / spread, data.x_test, (data.y_test - mean) / spread)


def in_units(seed: int) -> Split:
    """Return houses with standardised inputs and prices in units of their deviation."""
    data = houses(seed).standardised()
    mean, spread = data.y.mean(), data.y.std()
    return Split(data.x, (data.y - mean) / spread, data.x_test, (data.y_test - mean) / spread)


def network(inputs: int, *end: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), *end
    )


@programs.supervised(
    faults.RAW_TARGETS, "forum: house prices, predictions stay near zero for hours"
)
def houses_raw_prices(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed) if fixed else houses(seed).standardised()
    model = network(5)
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
    [faults.RAW_INPUTS, faults.RAW_TARGETS], "Q&A: house prices with SGD, NaN after a few steps"
)
def houses_raw_everything(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed) if fixed else houses(seed)
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


@programs.supervised(
    faults.BROADCAST, "forum: predicts the mean, 'target size different to input size'"
)
def diabetes_broadcast(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = diabetes(seed)
    model = network(10)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1) if fixed else data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=20,
        batch_size=16,
    )


def my_mse(prediction: Tensor, target: Tensor) -> Tensor:
    return torch.mean((prediction - target) ** 2)


@programs.supervised(
    [faults.BROADCAST, faults.LOW_RATE],
    "Q&A: own mean squared error on (N, 1) minus (N,), and lr=1e-5",
)
def houses_own_loss_broadcast(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1) if fixed else data.y),
        loss=my_mse,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 1e-5),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


@programs.supervised(faults.BOUNDED_OUTPUT.mildly(), "Q&A: sigmoid at the end of a regression")
def houses_sigmoid(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5) if fixed else network(5, nn.Sigmoid())
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
    faults.RELU_OUTPUT.mildly(), "DeepCrime: add an activation; ReLU on the last layer"
)
def houses_relu(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5) if fixed else network(5, nn.ReLU())
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


def summed_squares(prediction: Tensor, target: Tensor) -> Tensor:
    return ((prediction - target) ** 2).sum()


@programs.supervised(faults.SUM, "forum: own loss sums over the batch, loss explodes with lr=0.05")
def houses_sum(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=my_mse if fixed else summed_squares,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=64,
    )


def mean_first(prediction: Tensor, target: Tensor) -> Tensor:
    return (prediction - target).mean() ** 2


@programs.supervised(
    faults.WRONG_DIMENSION, "Q&A: loss is nearly zero but every prediction is the mean"
)
def houses_mean_first(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=my_mse if fixed else mean_first,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=80,
        batch_size=128,
    )


@programs.supervised(
    faults.LOW_RATE, "forum: SGD with lr=1e-5, loss goes down a little every epoch"
)
def houses_low_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    rate = 0.01 if fixed else 1e-5
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        validation=(data.x_test[:100], data.y_test[:100].unsqueeze(1)),
        epochs=40,
    )


@programs.supervised(faults.LOW_RATE.mildly(), "DeepCrime: decrease the learning rate, ten times")
def houses_low_rate_mild(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 5e-5),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


def negative_bias(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.1)
        nn.init.constant_(module.bias, -3.0)


@programs.supervised(faults.DEAD_RELU, "Q&A: a bias that starts at -3 gives a constant output")
def diabetes_dead_relu(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = diabetes(seed)
    model = network(10)
    if not fixed:
        model.apply(negative_bias)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=12,
        batch_size=16,
    )


@programs.script(
    faults.SCHEDULER, "forum: scheduler.step() inside the batch loop, rate is 0 by epoch 2"
)
def houses_scheduler(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    doctor = watch(model, optimizer)
    for _epoch in range(40):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = F.mse_loss(model(data.x[rows]).squeeze(1), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                scheduler.step()
        if fixed:
            scheduler.step()
        doctor.epoch(r2=explained(data.x_test, data.y_test)(model))
    return explained(data.x_test, data.y_test)(model)
