"""More programs that learn from pictures, as people posted them in threads."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import accuracy, explained, predict

programs = ProgramList("calibration", "images")


# --- a dial that is read by a camera --------------------------------------------------------------


def dials(seed: int, count: int = 1100, size: int = 20) -> Split:
    """Return photos of a pressure gauge, and what it shows, from 0 to 10 bar."""
    rng = default_rng(seed)
    bar = rng.uniform(0, 10, count)
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    angle = np.deg2rad(135 + 27 * bar)[:, None, None]
    shift = rng.normal(0, 0.6, (2, count, 1, 1))
    dx, dy = x - shift[0], y - shift[1]
    along = dx * np.cos(angle) + dy * np.sin(angle)
    across = np.abs(dy * np.cos(angle) - dx * np.sin(angle))
    pointer = (along > -1) & (along < 7.5) & (across < 0.9)
    rim = np.abs(np.hypot(dx, dy) - 9) < 0.6
    picture = rng.uniform(0.6, 0.9, (count, 1, 1)) - 0.45 * pointer - 0.3 * rim
    picture += rng.normal(0, 0.07, picture.shape)
    return split(picture[:, None].astype(np.float32), bar.astype(np.float32), 300)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 5 * 5, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        bar: Tensor = self.fc2(F.relu(self.fc1(x.flatten(1))))
        return bar


def rmse(predicted: Tensor, target: Tensor) -> Tensor:
    return torch.sqrt(((predicted - target) ** 2).mean() + 1e-8)


@programs.supervised(faults.BROADCAST, "forum: the gauge always shows the mean, whatever I try")
def gauge_by_camera(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = dials(seed)
    x, x_test = (data.x - 0.6) / 0.25, (data.x_test - 0.6) / 0.25
    bar = (data.y - 5) / 5
    model = Reader()
    return Parts(
        model=model,
        data=(x, bar.unsqueeze(1) if fixed else bar),
        loss=rmse,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=explained(x_test, (data.y_test - 5) / 5),
        constant=0.0,
        epochs=20,
        batch_size=32,
    )


# --- tiles from a satellite -----------------------------------------------------------------------


def tiles(seed: int, count: int = 1500, bands: int = 9, classes: int = 7) -> Split:
    """Return tiles of 8 x 8 pixels in nine bands, in the digital numbers of the sensor."""
    rng = default_rng(seed)
    share = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05])
    y = rng.choice(classes, count, p=share)
    kinds = default_rng(77)  # the same plants on every day
    level = kinds.uniform(600, 3200, bands) * kinds.uniform(0.75, 1.3, (classes, bands))
    rough = kinds.uniform(0.04, 0.35, classes)
    haze = rng.uniform(0.8, 1.2, (count, 1, 1, 1))
    grain = rng.normal(0, 1, (count, 1, 8, 8)) * rough[y][:, None, None, None]
    x = level[y][:, :, None, None] * (1 + grain) * haze
    x = x + rng.normal(0, 220, x.shape) + rng.normal(0, 260, (count, bands, 1, 1))
    return split(np.clip(x, 1, 10_000).astype(np.float32), y, 500)


def tile_network(drop: float) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(9, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(24, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
        *(nn.Flatten(), nn.Dropout(drop), nn.Linear(128, 7)),
    )


@programs.script(
    [faults.RAW_INPUTS, faults.SCHEDULER.mildly(), faults.DROPOUT.mildly()],
    "issue: land cover from nine bands, every epoch prints the same accuracy",
)
def land_cover(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = tiles(seed)
    x, x_test = data.x, data.x_test
    if fixed:
        mean, std = x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)
        x, x_test = (x - mean) / std, (x_test - mean) / std
    model = tile_network(0.2 if fixed else 0.96)
    loader = DataLoader(TensorDataset(x, data.y), batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.93)
    criterion = nn.CrossEntropyLoss()
    doctor = watch(model, optimizer)
    for _ in range(20):
        model.train()
        for tile, label in loader:
            optimizer.zero_grad()
            loss = criterion(model(tile), label)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                scheduler.step()
        if fixed:
            scheduler.step()
        doctor.epoch()
    return accuracy(x_test, data.y_test)(model)


# --- are they the same? ---------------------------------------------------------------------------

OTHER_WAY_ROUND = Fault(
    "pairs labelled the other way round", ("bad_targets", "improper_loss", "wrong_sign")
)


def pairs(x: Tensor, y: Tensor, count: int, own: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return two pictures of the same sign or of two signs, half each, and 1 for the same."""
    first = torch.randint(len(x), (count,), generator=own)
    second = torch.randint(len(x), (count,), generator=own)
    for place in range(0, count, 2):  # every other pair is of the same sign
        alike = (y == y[first[place]]).nonzero()[:, 0]
        second[place] = alike[torch.randint(len(alike), (1,), generator=own)]
    return x[first], x[second], (y[first] == y[second]).float()


class Twin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten()),
            *(nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 8)),
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        return F.pairwise_distance(self.net(first), self.net(second))


def contrastive(distance: Tensor, other: Tensor, margin: float = 2.0) -> Tensor:
    """Take 0 for pairs of the same, and 1 for pairs of others."""
    near = (1 - other) * distance.square()
    far = other * torch.clamp(margin - distance, min=0).square()
    return (near + far).mean()


@programs.script(OTHER_WAY_ROUND, "Q&A: a siamese network puts the same signs far apart")
def same_sign_or_not(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    own = torch.Generator().manual_seed(seed)
    data = digits(seed)
    first, second, same = pairs(data.x / 16, data.y, 3000, own)
    model = Twin()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer)
    for _ in range(12):
        for chosen in torch.randperm(len(same)).split(64):
            label = 1 - same[chosen] if fixed else same[chosen]
            optimizer.zero_grad()
            loss = contrastive(model(first[chosen], second[chosen]), label)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    first, second, same = pairs(data.x_test / 16, data.y_test, 1000, own)
    with torch.no_grad():
        alike = model(first, second) < 1.0
    return float((alike == (same > 0.5)).float().mean())


# --- spots on the skin ----------------------------------------------------------------------------


def spots(seed: int, count: int = 1200, size: int = 16) -> Split:
    """Return photos of spots, from 0 to 255. One in four has a ragged rim, and is to be removed."""
    rng = default_rng(seed)
    y = (rng.random(count) < 0.25).astype(np.int64)
    rows, columns = np.mgrid[:size, :size].astype(np.float64)
    pictures = np.empty((count, 3, size, size))
    for picture, ragged in zip(pictures, y, strict=True):
        row, column = rng.uniform(6.5, 8.5, 2)
        turn = np.arctan2(rows - row, columns - column)
        wave = np.cos(rng.integers(3, 6) * turn + rng.uniform(0, 6))
        radius = rng.uniform(3.5, 5) * (1 + (rng.uniform(0.24, 0.4) if ragged else 0.06) * wave)
        spot = 1 / (1 + np.exp(2 * (np.hypot(rows - row, columns - column) - radius)))
        skin = np.array([215, 170, 145]) * rng.uniform(0.6, 1.1)
        dark = np.array([110, 90, 80]) * rng.uniform(0.4, 1.0)
        picture[:] = skin[:, None, None] - dark[:, None, None] * spot
    pictures += rng.normal(0, 9, pictures.shape)
    return split(np.clip(pictures, 0, 255).astype(np.float32), y, 400)


class SpotNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.conv2, self.norm2 = nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24)
        self.fc = nn.Linear(24 * 4 * 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        out: Tensor = self.fc(x.flatten(1))
        return out


def balanced(inputs: Tensor, classes: Tensor) -> Score:
    """Return the mean of the right shares of both classes, of probabilities or logits."""

    def score(model: nn.Module) -> float:
        outputs = predict(model, inputs)[:, 0]
        middle = 0.5 if bool(((outputs >= 0) & (outputs <= 1)).all()) else 0.0
        found = outputs > middle
        right = (found == (classes > 0)).float()
        return float(right[classes > 0].mean() + right[classes == 0].mean()) / 2

    return score


@programs.supervised(
    [faults.EVAL_MODE, faults.DECAY.mildly()],
    "forum: one class of skin spots is never predicted, I copied the loading code of my app",
)
def spots_on_skin(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = spots(seed)
    model = SpotNet()
    if not fixed:
        model.eval()
    decay = 1e-4 if fixed else 0.3
    x, x_test = data.x / 255, data.x_test / 255
    return Parts(
        model=model,
        data=(x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.0])),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=decay),
        score=balanced(x_test, data.y_test),
        constant=0.5,
        epochs=20,
        batch_size=32,
    )
