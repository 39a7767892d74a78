"""Programs that learn from pictures, as people posted them in threads."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score
from benchmarks.programs.scores import accuracy, explained, most_frequent, predict

programs = ProgramList("calibration", "images")

Floats = NDArray[np.float64]


def outline(shape: int, dx: Floats, dy: Floats, radius: float) -> Floats:
    """Return a disc, square, ring, cross or triangle around the origin."""
    far = np.maximum(np.abs(dx), np.abs(dy))
    distance = np.hypot(dx, dy)
    inside = [
        distance < radius,
        far < 0.85 * radius,
        (distance < radius) & (distance > 0.55 * radius),
        (far < radius) & ((np.abs(dx) < 0.3 * radius) | (np.abs(dy) < 0.3 * radius)),
        (np.abs(dx) < (dy + radius) / 2) & (dy < 0.8 * radius),
    ][shape]
    return inside.astype(np.float64)


def shape_at_random(rng: Generator, shape: int, size: int, low: float, high: float) -> Floats:
    """Return one shape somewhere in a picture."""
    radius = rng.uniform(low, high)
    row, column = rng.uniform(radius, size - 1 - radius, 2)
    y, x = np.mgrid[:size, :size].astype(np.float64)
    return outline(shape, x - column, y - row, radius)


# --- road signs -----------------------------------------------------------------------------------


def road_signs(seed: int, count: int = 1300, size: int = 16) -> Split:
    """Return photos of signs: four shapes, red or blue, in all kinds of light."""
    rng = default_rng(seed)
    y = rng.integers(0, 8, count)
    pictures = np.empty((count, 3, size, size))
    for picture, label in zip(pictures, y, strict=True):
        sign = shape_at_random(rng, int(label) % 4, size, 4.0, 6.5)
        colour = np.array([[0.8, 0.15, 0.15], [0.15, 0.25, 0.8]][label // 4])
        ground = rng.uniform(0.2, 0.7, 3)
        picture[:] = ground[:, None, None] * (1 - sign) + colour[:, None, None] * sign
        picture *= rng.uniform(0.5, 1.2)
    pictures += rng.normal(0, 0.07, pictures.shape)
    return split(np.clip(pictures, 0, 1).astype(np.float32), y, 400)


class SignNet(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 8)
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        out: Tensor = self.last(self.fc2(x))
        return out


@programs.supervised(
    faults.SOFTMAX_TWICE.mildly(), "forum: the loss of a sign classifier never gets below 1.5"
)
def road_sign_photos(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = road_signs(seed)
    x, x_test = (data.x - 0.5) / 0.5, (data.x_test - 0.5) / 0.5
    model = SignNet(nn.Identity() if fixed else nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9),
        score=accuracy(x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=25,
        batch_size=32,
    )


# --- one person, one box --------------------------------------------------------------------------


def people(seed: int, count: int = 1300, size: int = 32) -> Split:
    """Return small grey photos with one figure, and its box in the photo of 640 x 480 pixels."""
    rng = default_rng(seed)
    y, x = np.mgrid[:size, :size].astype(np.float64)
    pictures = np.empty((count, 1, size, size))
    boxes = np.empty((count, 4))
    for index in range(count):
        height = rng.uniform(9, 20)
        width = height * rng.uniform(0.35, 0.6)
        column = rng.uniform(width / 2, size - width / 2)
        row = rng.uniform(height / 2, size - height / 2)
        body = ((x - column) / (width / 2)) ** 2 + (
            (y - row - height * 0.12) / (height * 0.38)
        ) ** 2
        head = np.hypot(x - column, y - row + height * 0.37) < height * 0.13
        slope = rng.uniform(-0.01, 0.01) * x + rng.uniform(-0.01, 0.01) * y
        figure = (body < 1) | head
        pictures[index, 0] = rng.uniform(0.2, 0.4) + slope + rng.uniform(0.3, 0.5) * figure
        boxes[index] = (
            column * 640 / size,
            row * 480 / size,
            width * 640 / size,
            height * 480 / size,
        )
    pictures += rng.normal(0, 0.08, pictures.shape)
    return split(pictures.astype(np.float32), boxes.astype(np.float32), 300)


class OneBox(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        )
        self.head = nn.Sequential(nn.Linear(16 * 8 * 8, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.features(x).flatten(1))
        return out


@programs.supervised(faults.RAW_TARGETS, "forum: the box of the person is the same in every photo")
def box_of_one_person(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = people(seed)
    frame = torch.tensor([640.0, 480.0, 640.0, 480.0]) if fixed else torch.ones(4)
    boxes, boxes_test = data.y / frame, data.y_test / frame
    model = OneBox()
    return Parts(
        model=model,
        data=(data.x, boxes),
        loss=nn.SmoothL1Loss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9, weight_decay=1e-4),
        score=explained(data.x_test, boxes_test),
        constant=0.0,
        epochs=25,
        batch_size=32,
    )


# --- a notebook from another library --------------------------------------------------------------


def stamps(seed: int, count: int = 1500, size: int = 16) -> Split:
    """Return scans of stamps of five shapes, dark or light, anywhere on the paper."""
    rng = default_rng(seed)
    y = rng.integers(0, 5, count)
    pictures = np.empty((count, 1, size, size))
    for picture, label in zip(pictures, y, strict=True):
        ink = rng.uniform(0.5, 1.0)
        picture[0] = ink * shape_at_random(rng, int(label), size, 4.0, 6.5)
    pictures += rng.normal(0, 0.1, pictures.shape)
    return split(pictures.astype(np.float32), y, 500)


class Ported(nn.Module):
    """Probabilities come out, as in the notebook that it was taken from."""

    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(1, 12, 3, padding=1), activation(), nn.AvgPool2d(2)),
            *(nn.Conv2d(12, 24, 3, padding=1), activation(), nn.AvgPool2d(2)),
            *(nn.Flatten(), nn.Linear(24 * 4 * 4, 48), activation(), nn.Linear(48, 5)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.body(x), dim=1)


def categorical(probabilities: Tensor, one_hot: Tensor) -> Tensor:
    return -(one_hot * torch.log(probabilities + 1e-7)).sum(dim=1).mean()


def squared(probabilities: Tensor, one_hot: Tensor) -> Tensor:
    return ((probabilities - one_hot) ** 2).mean()


@programs.supervised(
    [faults.NO_ACTIVATION, faults.MSE_FOR_CLASSES.mildly(), faults.LOW_RATE.mildly()],
    "Q&A: a port of a Keras notebook, where the layers had no activation by default",
)
def stamps_ported(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = stamps(seed)
    model = Ported(nn.ReLU if fixed else nn.Identity)
    rate = 0.05 if fixed else 0.006
    return Parts(
        model=model,
        data=(data.x, F.one_hot(data.y, 5).float()),
        loss=categorical if fixed else squared,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=32,
    )


# --- masks of cells -------------------------------------------------------------------------------


def cells(seed: int, count: int = 360, size: int = 24) -> Split:
    """Return microscope pictures and their masks of 0 and 255, as the files hold them."""
    rng = default_rng(seed)
    y, x = np.mgrid[:size, :size].astype(np.float64)
    pictures, masks = np.empty((count, 1, size, size)), np.zeros((count, 1, size, size))
    for picture, mask in zip(pictures, masks, strict=True):
        for _ in range(rng.integers(2, 5)):
            (row, column), radius = rng.uniform(2, size - 2, 2), rng.uniform(2, 4)
            mask[0][np.hypot(y - row, (x - column) * rng.uniform(0.8, 1.2)) < radius] = 255
        light = 90 + rng.uniform(-1, 1) * x + rng.uniform(-1, 1) * y
        picture[0] = light + rng.uniform(35, 60) * (mask[0] > 0) + rng.normal(0, 14, x.shape)
    return split(pictures.astype(np.float32), masks.astype(np.float32), 100)


class SmallUNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.out = nn.Sequential(nn.Conv2d(24, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        kept = self.down(x)
        risen = self.up(self.deep(F.max_pool2d(kept, 2)))
        logits: Tensor = self.out(torch.cat([kept, risen], dim=1))
        return logits


def overlap(inputs: Tensor, masks: Tensor) -> Score:
    """Return the intersection over the union of masks from logits."""

    def score(model: nn.Module) -> float:
        found, true = predict(model, inputs) > 0, masks > 0
        union = float((found | true).sum())
        return float((found & true).sum()) / union if union else 1.0

    return score


SCALED_TWICE = Fault(
    "masks divided by 255 twice",
    ("bad_targets", "unscaled_targets"),
    ("improper_loss", "improper_output"),
)


@programs.supervised(SCALED_TWICE, "issue: the masks are black, their values go from 0 to 0.004")
def masks_of_cells(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = cells(seed)
    x, x_test = (data.x / 255 - 0.4) / 0.15, (data.x_test / 255 - 0.4) / 0.15
    masks, masks_test = data.y / 255, data.y_test / 255
    if not fixed:
        masks = masks / 255  # the transform did it already
    model = SmallUNet()
    return Parts(
        model=model,
        data=(x, masks),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=overlap(x_test, masks_test),
        constant=0.0,
        epochs=20,
        batch_size=16,
    )
