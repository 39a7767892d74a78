"""Mild faults for the most part: the program learns, but clearly less than it could."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.images import Net, WithEnd, small_images, squared_error
from benchmarks.programs.calibration.regression import in_units, network
from benchmarks.programs.calibration.tabular import scored
from benchmarks.programs.calibration.text import Bag
from benchmarks.programs.data import bundled, houses, reviews, rings
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained

programs = ProgramList("calibration", "tabular")


@programs.supervised(
    faults.WRONG_LABELS.mildly(),
    "DeepCrime: change labels; two of five were typed wrongly",
    kind="images",
    repairable=False,
)
def digits_wrong_labels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    wrong = torch.rand(len(data.y)) < (0.0 if fixed else 0.4)
    labels = torch.where(wrong, torch.randint(0, 10, data.y.shape), data.y)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    return Parts(
        model=model,
        data=(data.x, labels),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        validation=(data.x_test[:150], data.y_test[:150]),
        epochs=40,
        **scored(data),
    )


@programs.supervised(faults.DROPOUT.mildly(), "DeepCrime: change dropout rate, to 0.9")
def rings_some_dropout(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = rings(seed)
    drop = 0.0 if fixed else 0.9
    model = nn.Sequential(
        nn.Linear(5, 20), nn.ReLU(), nn.Dropout(drop), nn.Linear(20, 20), nn.ReLU(),
        nn.Dropout(drop), nn.Linear(20, 3),
    )  # fmt: skip
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=30,
        **scored(data),
    )


@programs.supervised(
    faults.DECAY.mildly(),
    "forum: weight_decay=0.05 with Adam, the fit is too flat",
    kind="regression",
)
def houses_decay(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = in_units(seed)
    model = network(5)
    decay = 0.0 if fixed else 0.05
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=decay),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
    )


@programs.supervised(
    faults.RAW_TARGETS.mildly(), "Q&A: an amount in thousands; too low after all epochs",
    kind="regression",
)  # fmt: skip
def houses_in_thousands(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = houses(seed).standardised()
    prices, held_out = data.y / 1000, data.y_test / 1000
    if fixed:
        mean, spread = prices.mean(), prices.std()
        prices, held_out = (prices - mean) / spread, (held_out - mean) / spread
    model = network(5)
    return Parts(
        model=model,
        data=(data.x, prices.unsqueeze(1)),
        loss=nn.L1Loss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(data.x_test, held_out),
        constant=0.0,
        epochs=25,
    )


@programs.supervised(
    faults.FEW_EPOCHS.mildly(), "DeepCrime: change the number of epochs", kind="images"
)
def digits_few_epochs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        epochs=20 if fixed else 6,
        **scored(data),
    )


@programs.supervised(
    faults.LOW_RATE.mildly(), "DeepCrime: decrease the learning rate", kind="images"
)
def digits_low_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 2e-4),
        epochs=15,
        **scored(data),
    )


@programs.supervised(
    faults.MSE_FOR_CLASSES, "Q&A: softmax outputs with MSELoss on one-hot labels", kind="images"
)
def digits_softmax_mse(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net() if fixed else WithEnd(nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss() if fixed else squared_error,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        epochs=25,
        **scored(data),
    )


@programs.supervised(faults.SMALL.mildly(), "Humbatova: wrong number of neurons", kind="images")
def digits_small(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    width = 64 if fixed else 3
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        epochs=40,
        **scored(data),
    )


@programs.supervised(faults.HIGH_RATE, "forum: SGD(0.15, momentum=0.9), good epochs and bad ones")
def pen_strokes_momentum(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("digits", seed).standardised()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 10))
    rate = 0.02 if fixed else 0.15
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
        epochs=40,
        **scored(data),
    )


@programs.supervised(
    faults.WRONG_WIDTH.mildly(), "Q&A: one sigmoid output for three classes, labels as floats"
)
def wine_one_output(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = bundled("wine", seed).standardised()
    layers: list[nn.Module] = [nn.Linear(13, 32), nn.ReLU()]
    layers += [nn.Linear(32, 3)] if fixed else [nn.Linear(32, 1), nn.Sigmoid()]
    model = nn.Sequential(*layers)
    return Parts(
        model=model,
        data=(data.x, data.y if fixed else data.y.float().unsqueeze(1)),
        loss=nn.CrossEntropyLoss() if fixed else nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        epochs=150,
        batch_size=16,
        **scored(data),
    )


@programs.script(
    faults.CLIPPING.mildly(),
    "forum: max_norm=0.001 with SGD, much slower than without",
    kind="text",
)
def reviews_clipped(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = reviews(seed)
    model = Bag(classes=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0, momentum=0.9)
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0 if fixed else 1e-3)
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    [faults.SIGMOID_TWICE.mildly(), faults.FROZEN.mildly(), faults.FEW_EPOCHS.mildly()],
    "forum: three slips in one text classifier",
    kind="text",
)
def reviews_three_slips(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = reviews(seed)
    model = Bag(end=None if fixed else nn.Sigmoid())
    model.words.weight.requires_grad = fixed
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.BCEWithLogitsLoss()
    doctor = watch(model, optimizer)
    for _epoch in range(12 if fixed else 4):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(data.x[rows]).squeeze(1), data.y[rows].float())
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test[:200], data.y_test[:200])(model))
    return accuracy(data.x_test, data.y_test)(model)
