"""Pictures with loops written by hand: chess squares, parked cars and knitting charts."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import ProgramList, Watch
from benchmarks.programs.scores import accuracy, predict, r_squared

programs = ProgramList("calibration", "images")


def squares(seed: int, count: int = 1600, size: int = 12) -> Split:
    """Return squares of a chess board from above: empty, pawn, rook, bishop or queen."""
    rng = default_rng(seed)
    piece = rng.integers(0, 5, count)
    row, column = np.mgrid[:size, :size] - (size - 1) / 2
    v, h = (at + rng.uniform(-1, 1, (count, 1, 1)) for at in (row, column))
    radius = np.hypot(v, h)
    seen = [
        np.zeros_like(radius),
        radius < 2.2,
        (np.maximum(np.abs(v), np.abs(h)) < 4) & (np.minimum(np.abs(v), np.abs(h)) < 1.3),
        (np.abs(v) + np.abs(h) < 5) & (np.abs(np.abs(v) - np.abs(h)) < 1.5),
        (radius < 4.5) & (radius > 2.6),
    ]
    colour = rng.choice([-60.0, 70.0], (count, 1, 1))
    board = rng.choice([110.0, 150.0], (count, 1, 1))
    grey = board + colour * np.choose(piece[:, None, None], seen) + rng.normal(0, 18, radius.shape)
    grey = (grey - 130) / 45
    return split(grey[:, None].astype(np.float32), piece, count // 4)


class SquareNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(*self.block(1), *self.block(12), nn.MaxPool2d(2))
        for _ in range(5):
            self.features.extend(self.block(12))
        self.head = nn.Linear(12 * 36, 5)

    @staticmethod
    def block(channels: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU()]

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))


@programs.script(
    [faults.EVAL_MODE, faults.NO_ZERO_GRAD],
    "forum: a chess robot; eval() after loading, and zero_grad() went with a clean-up",
)
def chess_squares(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = squares(seed)
    net = SquareNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    doctor = watch(net, opt)
    if not fixed:
        net.eval()
    val_accuracy = accuracy(data.x_test, data.y_test)
    for _epoch in range(10):
        for batch in torch.randperm(len(data.x)).split(40):
            loss = F.cross_entropy(net(data.x[batch]), data.y[batch])
            if fixed:
                opt.zero_grad()
            loss.backward()
            opt.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=val_accuracy(net))
    return val_accuracy(net)


class CarPark(Dataset[dict[str, Tensor]]):
    """Pictures of a car park from above: one vehicle, where it stands, and which kind it is."""

    def __init__(self, seed: int, count: int, size: int = 20) -> None:
        rng = default_rng(seed)
        kind = rng.integers(0, 3, count)
        row, column = np.mgrid[:size, :size]
        place = rng.uniform(5, size - 5, (count, 2))
        high = np.array([1.5, 2.5, 3.8])[kind] + rng.uniform(-0.2, 0.2, count)
        wide = np.array([1.5, 2.5, 2.5])[kind] + rng.uniform(-0.2, 0.2, count)
        down, across = place[:, :1, None], place[:, 1:, None]
        there = np.abs(row - down) < high[:, None, None]
        there &= np.abs(column - across) < wide[:, None, None]
        picture = there * rng.uniform(0.7, 1.1, (count, 1, 1)) + rng.normal(0, 0.2, there.shape)
        box = np.stack([place[:, 0], place[:, 1], high, wide], 1)
        box = (box - [10, 10, 2.6, 2.2]) / [2.9, 2.9, 0.95, 0.5]
        self.picture = torch.tensor((picture - 0.12) / 0.37, dtype=torch.float32).unsqueeze(1)
        self.box = torch.tensor(box, dtype=torch.float32)
        self.kind = torch.tensor(kind)

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"picture": self.picture[index], "box": self.box[index], "kind": self.kind[index]}


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 25, 64)
        self.box, self.kind = nn.Linear(64, 4), nn.Linear(64, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc(x.flatten(1)))
        return self.box(x), self.kind(x)


@programs.script(
    faults.WRONG_TERM.mildly(),
    "issue: my detector knows the kind of a car but not the place; lambda_box = 0.001 from a paper",
)
def parking_boxes(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    train_set = CarPark(seed, 900)
    test_set = CarPark(seed + 1000, 300)
    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(train_set, batch_size=30, shuffle=True, generator=order)
    model = Detector()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    doctor = watch(model, optimizer)
    lambda_box = 1.0 if fixed else 1e-3
    for _epoch in range(16):
        for batch in loader:
            box, kind = model(batch["picture"])
            box_loss = F.mse_loss(box, batch["box"])
            loss = lambda_box * box_loss + F.cross_entropy(kind, batch["kind"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        box, kind = model(test_set.picture)
    right = float((kind.argmax(1) == test_set.kind).double().mean())
    return (right + r_squared(box, test_set.box)) / 2


def charts(seed: int, count: int = 1500, size: int = 16) -> Split:
    """Return scans of knitting: plain, ribs, stripes or moss stitch."""
    rng = default_rng(seed)
    kind = rng.integers(0, 4, count)
    row, column = np.mgrid[:size, :size]
    pace = rng.uniform(1.3, 1.8, (count, 1, 1))
    across = np.sin(pace * column + rng.uniform(0, 6, (count, 1, 1)))
    down = np.sin(pace * row + rng.uniform(0, 6, (count, 1, 1)))
    scan = np.choose(kind[:, None, None], [0 * across, across, down, 1.4 * across * down])
    scan = scan * rng.uniform(0.4, 1.0, (count, 1, 1)) + rng.normal(0, 0.7, scan.shape)
    scan = (scan - scan.mean()) / scan.std()
    return split(scan[:, None].astype(np.float32), kind, count // 4)


class Stitches(nn.Module):
    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.out = nn.Linear(128, 4)
        self.temperature = temperature

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.body(x)) / self.temperature


@programs.script(
    [faults.TEMPERATURE, faults.SCHEDULER],
    "issue: logits / T with T = 100 from a paper's repository, and StepLR in the inner loop",
)
def knitting_charts(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = charts(seed)
    net = Stitches(1.0 if fixed else 100.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.3)
    criterion = nn.CrossEntropyLoss()
    doctor = watch(net, optimizer)
    for _epoch in range(12):
        for batch in torch.randperm(len(data.x)).split(25):
            optimizer.zero_grad()
            loss = criterion(net(data.x[batch]), data.y[batch])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                scheduler.step()
        if fixed:
            scheduler.step()
        val_loss = criterion(predict(net, data.x_test), data.y_test)
        doctor.epoch(val_loss=float(val_loss))
    return accuracy(data.x_test, data.y_test)(net)
