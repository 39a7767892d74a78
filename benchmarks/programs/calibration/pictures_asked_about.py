"""Programs that learn from pictures, with questions about them: the sky, welds, car parks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score
from benchmarks.programs.scores import accuracy, explained, most_frequent, predict

programs = ProgramList("calibration", "images")


def evened(data: Split) -> Split:
    """Return pictures with mean 0 and deviation 1, for each channel."""
    mean = data.x.mean((0, 2, 3), keepdim=True)
    spread = data.x.std((0, 2, 3), keepdim=True)
    return replace(data, x=(data.x - mean) / spread, x_test=(data.x_test - mean) / spread)


# --- a survey of the sky --------------------------------------------------------------------------


def galaxies(seed: int, count: int = 1300, size: int = 20) -> Split:
    """Return galaxies that are smooth, have arms or a ring, or are seen from the side."""
    rng = default_rng(seed)
    y = rng.integers(0, 4, count)
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    pictures = np.empty((count, 1, size, size))
    for picture, kind in zip(pictures, y, strict=True):
        turned = rng.uniform(0, np.pi)
        along = columns * np.cos(turned) + rows * np.sin(turned) + rng.normal(0, 0.7)
        across = rows * np.cos(turned) - columns * np.sin(turned) + rng.normal(0, 0.7)
        flat = [rng.uniform(0.6, 0.9), 0.9, 0.9, 0.22][kind]
        radius, angle = np.hypot(along, across / flat), np.arctan2(across / flat, along)
        light = np.exp(-radius / rng.uniform(3, 4.5))
        if kind == 1:
            light *= 0.6 + 0.6 * np.cos(2 * angle - 0.9 * radius)
        elif kind == 2:
            light = 0.5 * light + 0.5 * np.exp(-((radius - rng.uniform(5, 7)) ** 2) / 2)
        picture[0] = light * rng.uniform(0.6, 1.2)
    pictures += rng.normal(0, 0.12, pictures.shape)
    return evened(split(pictures.astype(np.float32), y, 500))


class Telescope(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(24 * 25, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, sky: Tensor) -> Tensor:
        logits: Tensor = self.head(self.block(self.stem(sky)).flatten(1))
        return logits


@programs.supervised(
    faults.DECAY.mildly(), "course: galaxies, Adam(weight_decay=0.1) against overfitting"
)
def galaxy_types(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = galaxies(seed)
    model = Telescope()
    decay = 1e-4 if fixed else 0.1
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=decay),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=12,
        batch_size=32,
    )


# --- pollen under a microscope --------------------------------------------------------------------


def pollen(seed: int, count: int = 1100, size: int = 18) -> Split:
    """Return grains of three plants in the round view of a microscope. Outside it is black."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    pictures = np.empty((count, 1, size, size))
    for picture, plant in zip(pictures, y, strict=True):
        right, down = columns - rng.uniform(-2, 2), rows - rng.uniform(-2, 2)
        radius, angle = np.hypot(right, down), np.arctan2(down, right)
        spikes = [0.0, 0.25, 0.25][plant] * np.cos([0, 3, 7][plant] * angle + rng.uniform(0, 6))
        grain = radius < rng.uniform(4, 6) * (1 + spikes)
        picture[0] = rng.uniform(0.6, 0.8) - rng.uniform(0.2, 0.4) * grain
    pictures += rng.normal(0, 0.06, pictures.shape)
    pictures *= np.hypot(rows, columns) < size / 2
    return split(pictures.astype(np.float32), y, 400)


def grain_net() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(24 * 16, 32), nn.ReLU(), nn.Linear(32, 3)),
    )


@programs.supervised(
    faults.NAN_INPUTS, "Q&A: nan from the first batch; each pixel is divided by its deviation"
)
def pollen_grains(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = pollen(seed)
    mean, spread = data.x.mean(0), data.x.std(0)
    if fixed:
        spread = torch.where(spread > 0, spread, 1.0)  # black corners
    model = grain_net()
    return Parts(
        model=model,
        data=((data.x - mean) / spread, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3),
        score=accuracy((data.x_test - mean) / spread, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=12,
        batch_size=25,
    )


# --- a car park from above ------------------------------------------------------------------------


def car_park(seed: int, count: int = 1200) -> Split:
    """Return pictures of a car park with 15 places, and how many cars there are."""
    rng = default_rng(seed)
    taken = rng.random((count, 3, 5)) < rng.uniform(0.1, 0.9, (count, 1, 1))
    pictures = np.full((count, 1, 21, 25), 0.4)
    for (picture, row, column), there in np.ndenumerate(taken):
        if there:
            top, left = 7 * row + rng.integers(0, 3), 5 * column + rng.integers(0, 2)
            shade = rng.choice([rng.uniform(0.0, 0.2), rng.uniform(0.65, 1.0)])
            pictures[picture, 0, top : top + 5, left : left + 3] = shade
    pictures += rng.normal(0, 0.05, pictures.shape)
    cars = taken.sum((1, 2))
    return evened(split(pictures.astype(np.float32), (cars - 7.5) / 3.6, 400))


class CarCounter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d((3, 5))
        self.fc = nn.Linear(16 * 15, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.conv1(x))
        x = self.pool(torch.relu(self.conv2(x)))
        cars: Tensor = self.fc(x.flatten(1))
        return cars


def own_mse(guess: Tensor, cars: Tensor) -> Tensor:
    return ((guess - cars) ** 2).mean()


def own_mse_in_line(guess: Tensor, cars: Tensor) -> Tensor:
    return ((guess.squeeze(1) - cars) ** 2).mean()


@programs.supervised(
    [faults.BROADCAST, faults.LOW_RATE.mildly()],
    "forum: my own MSE; every car park gets 7.4 cars, and it takes hours to get there",
)
def cars_in_car_park(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = car_park(seed)
    model = CarCounter()
    rate = 0.01 if fixed else 1e-4
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=own_mse_in_line if fixed else own_mse,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=20,
        batch_size=20,
    )


# --- mushrooms ------------------------------------------------------------------------------------


def mushrooms(seed: int, count: int = 3600, size: int = 12) -> Split:
    """Return mushroom caps. One in twenty is poisonous: redder, with dots that are hard to see."""
    rng = default_rng(seed)
    y = (rng.random(count) < 0.05).astype(int)
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    pictures = np.empty((count, 3, size, size))
    for picture, poison in zip(pictures, y, strict=True):
        cap = np.hypot(rows, columns) < rng.uniform(4, 5.5)
        colour = np.array([0.55 + 0.06 * poison, 0.4, 0.3]) + rng.normal(0, 0.04, 3)
        picture[:] = np.where(cap, colour[:, None, None], 0.35 + rng.normal(0, 0.05))
        dots = cap & (rng.random(cap.shape) < 0.07 + 0.14 * poison)
        picture += 0.3 * dots
    pictures += rng.normal(0, 0.08, pictures.shape)
    return evened(split(pictures.astype(np.float32), y, 1600))


def balanced(inputs: Tensor, classes: Tensor) -> Score:
    """Return the mean of the shares of each class that are found."""

    def score(model: nn.Module) -> float:
        right = (predict(model, inputs).argmax(1) == classes).double()
        return float(sum(right[classes == each].mean() for each in (0, 1)) / 2)

    return score


RARE_CLASS = Fault("a rare class is ignored", ("class_imbalance",), ("improper_loss",), mild=True)


@programs.supervised(
    RARE_CLASS, "course: 95 % accuracy on mushrooms, but hardly a poisonous one is found"
)
def rare_mushrooms(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = mushrooms(seed)
    share = data.y.double().mean()
    weight = torch.tensor([0.5 / (1 - share), 0.5 / share]).float() if fixed else None
    model = nn.Sequential(
        *(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 2)),
    )
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(weight=weight),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=balanced(data.x_test, data.y_test),
        constant=0.5,
        epochs=18,
        batch_size=50,
    )
