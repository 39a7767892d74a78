"""Programs that learn from pictures: welds and waste on a belt, and loops by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.calibration.pictures_asked_about import evened
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("calibration", "images")


# --- welds in X-rays ------------------------------------------------------------------------------


def welds(seed: int, count: int = 1300, size: int = 16) -> Split:
    """Return X-rays of welds: sound, with a crack, with pores, or not filled to the root."""
    rng = default_rng(seed)
    y = rng.integers(0, 4, count)
    rows, columns = np.mgrid[:size, :size].astype(np.float64)
    pictures = np.empty((count, 1, size, size))
    for picture, defect in zip(pictures, y, strict=True):
        middle = rng.uniform(6, 9)
        seam = 0.4 + 0.3 * np.exp(-(((rows - middle) / 3.5) ** 2))
        if defect == 1:
            bend = middle + rng.uniform(-2, 2) + 1.5 * np.sin(columns / 2 + rng.uniform(0, 6))
            seam -= 0.3 * ((np.abs(rows - bend) < 0.8) & (columns > rng.uniform(1, 6)))
        elif defect == 2:
            for _ in range(rng.integers(4, 8)):
                row, column = middle + rng.uniform(-3, 3), rng.uniform(1, size - 2)
                seam -= 0.25 * (np.hypot(rows - row, columns - column) < 1.2)
        elif defect == 3:
            seam -= 0.25 * (np.abs(rows - middle) < 1.2)
        picture[0] = seam
    pictures += rng.normal(0, 0.06, pictures.shape)
    return evened(split(pictures.astype(np.float32), y, 500))


class WeldNet(nn.Module):
    def __init__(self, act: type[nn.Module]) -> None:
        super().__init__()
        widths = [1, 8, 16, 16, 24]
        layers: list[nn.Module] = []
        for step, (fewer, more) in enumerate(pairwise(widths)):
            layers += [nn.Conv2d(fewer, more, 3, stride=1 + step % 2, padding=1), act()]
        self.convs = nn.Sequential(*layers)
        self.fc1, self.act = nn.Linear(24 * 16, 40), act()
        self.fc2 = nn.Linear(40, 4)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.fc2(self.act(self.fc1(self.convs(x).flatten(1))))
        return logits


@programs.supervised(
    faults.DEEP_SIGMOID, "forum: loss 1.386 whatever I do; a sigmoid after each of five layers"
)
def weld_defects(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = welds(seed)
    model = WeldNet(nn.ReLU if fixed else nn.Sigmoid)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=30,
        batch_size=32,
    )


# --- a belt with waste ----------------------------------------------------------------------------


def waste(seed: int, count: int = 1800, size: int = 12) -> Split:
    """Return waste by an infrared camera: glass, card, two kinds of board, foil, wood."""
    rng = default_rng(seed)
    y = rng.integers(0, 6, count)
    rows, columns = np.mgrid[:size, :size].astype(np.float64)
    board = np.array([[2, 3, 4, 1], [2, 4, 2, 7], [3, 5, 3, 7], [3, 5, 3, 7], [5, 5, 5, 4]]) / 10
    tones = np.vstack([board, [0.5, 0.45, 0.4, 0.45]])
    pictures = np.empty((count, 4, size, size))
    for picture, kind in zip(pictures, y, strict=True):
        turned, start = rng.uniform(0, np.pi), rng.uniform(0, 6)
        across = rows * np.cos(turned) + columns * np.sin(turned)
        rough = [0.0, 0.5, 0.0, 0.0, 0.6, 0.1][kind] * rng.normal(0, 0.25, rows.shape)
        ripple = 0.12 * np.sin(across * (1.2 if kind == 2 else 2.4) + start) * (kind in (2, 3))
        light = rng.normal(0, 0.06) + rng.normal(0, 0.06, 4)[:, None, None]
        picture[:] = tones[kind][:, None, None] + rough + ripple + light
    pictures += rng.normal(0, 0.05, pictures.shape)
    return evened(split(pictures.astype(np.float32), y, 600))


def waste_net(width: int, drop: float) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(4, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Dropout(drop), nn.Conv2d(width, 2 * width, 3), nn.BatchNorm2d(2 * width), nn.ReLU()),
        *(nn.Flatten(), nn.Dropout(drop), nn.Linear(18 * width, 6)),
    )


@programs.supervised(
    [faults.SMALL.mildly(), faults.DROPOUT.mildly(), faults.LOW_RATE.mildly()],
    "Q&A: sorting waste stays at 30 %; three filters, Dropout(0.85) and a rate from a big model",
)
def sorted_waste(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = waste(seed)
    width = 12 if fixed else 3
    drop = 0.1 if fixed else 0.85
    rate = 1e-3 if fixed else 1e-4
    model = waste_net(width, drop)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=rate),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=30,
    )


# --- fruit on a belt ------------------------------------------------------------------------------

ERASED = Fault(
    "gradients erased before the step",
    faults.STILL,
    ("vanishing_gradient", "learning_rate_too_low"),
)


def fruit(seed: int, count: int = 1000, size: int = 14) -> Split:
    """Return fruit on a belt: unripe, ripe or rotten, in changing light."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    skins = np.array([[0.45, 0.65, 0.2], [0.75, 0.35, 0.15], [0.65, 0.4, 0.17]])
    pictures = np.full((count, 3, size, size), 0.25)
    for picture, state in zip(pictures, y, strict=True):
        right, down = columns - rng.uniform(-2, 2), rows - rng.uniform(-2, 2)
        peel = np.hypot(right, down) < rng.uniform(3.5, 5)
        colour = skins[state] + rng.normal(0, 0.08, 3)
        picture[:, peel] = colour[:, None]
        if state == 2:
            spot = np.hypot(right - rng.uniform(-2, 2), down - rng.uniform(-2, 2)) < 1.9
            picture[:, spot & peel] *= 0.45
        picture *= rng.uniform(0.7, 1.2)
    pictures += rng.normal(0, 0.06, pictures.shape)
    return evened(split(pictures.astype(np.float32), y, 400))


class FruitNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3)
        self.conv2 = nn.Conv2d(12, 16, 3)
        self.dense = nn.Linear(16 * 16, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.leaky_relu(self.conv1(x)), 2)
        x = F.leaky_relu(self.conv2(x)).flatten(1)
        return F.log_softmax(self.out(F.leaky_relu(self.dense(x))), dim=1)


@programs.script(ERASED, "Q&A: loss goes up and down around 1.1; I do call backward and step")
def ripe_fruit(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = fruit(seed)
    net = FruitNet()
    opt = torch.optim.RMSprop(net.parameters(), lr=7e-4)
    doctor = watch(net, opt)
    for _epoch in range(12):
        for rows in torch.randperm(len(data.x)).split(20):
            if fixed:
                opt.zero_grad()
            loss = F.nll_loss(net(data.x[rows]), data.y[rows])
            loss.backward()
            if not fixed:
                opt.zero_grad()
            opt.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(net, data.x_test), data.y_test)


# --- digits on envelopes --------------------------------------------------------------------------


@programs.script(
    [faults.LARGE_START, faults.CLIPPING.mildly()],
    "issue: postcodes, all weights from randn as in my lecture, then clipped because it exploded",
)
def postcodes(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = digits(seed).flat()
    x, x_test = (data.x - 4.9) / 6.0, (data.x_test - 4.9) / 6.0
    net = nn.Sequential(
        *(nn.Linear(64, 96), nn.Tanh(), nn.Linear(96, 64), nn.Tanh(), nn.Linear(64, 10))
    )
    if not fixed:
        for weights in net.parameters():
            nn.init.normal_(weights, 0.0, 2.0)
    limit = 2.0 if fixed else 0.01
    opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    doctor = watch(net, opt)
    for _epoch in range(20):
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(net(x[rows]), data.y[rows])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), limit)
            opt.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(net, x_test), data.y_test)
