"""Pictures whose files, labels or outputs were not what their owner thought."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.reported_images import by_accuracy, shapes, stripes
from benchmarks.programs.data import Split, bundled, digits, split
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.real_data import real

programs = ProgramList("calibration", "images")


class TinyCNN(nn.Module):
    """A block with batch norm, another without, and a linear answer."""

    def __init__(self, side: int, classes: int, width: int = 16) -> None:
        super().__init__()
        self.block1 = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.SiLU()
        )
        self.block2 = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.SiLU())
        self.pool = nn.AvgPool2d(2)
        self.drop = nn.Dropout(0.25)
        self.out = nn.Linear(width * (side // 4) ** 2, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.block1(x))
        x = self.pool(self.block2(x))
        return self.out(self.drop(x.flatten(1)))


def cut(sheet: Tensor, side: int = 8) -> Tensor:
    """Return the cells of a sheet of pictures, row by row."""
    rows, columns = sheet.shape[0] // side, sheet.shape[1] // side
    cells = sheet.reshape(rows, side, columns, side).transpose(1, 2)
    return cells.reshape(-1, 1, side, side)


@programs.supervised(
    faults.MIXED_SAMPLES,
    "Q&A: one big scan with 42 digits in a row, cut up with a single reshape",
    repairable=False,
)
def contact_sheet(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    raw = digits(seed)
    count = len(raw.x) // 42 * 42
    scan = raw.x[:count, 0].reshape(-1, 42, 8, 8).transpose(1, 2).reshape(-1, 42 * 8)
    x = cut(scan) if fixed else scan.reshape(-1, 1, 8, 8)
    data = Split(x / 6 - 0.8, raw.y[:count], raw.x_test / 6 - 0.8, raw.y_test)
    model = TinyCNN(8, 10)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        epochs=20,
        batch_size=42,
        **by_accuracy(data),
    )


@programs.supervised(
    faults.CONSTANT_INPUTS,
    "forum: pictures made black and white at 127, but these only go up to 16",
    repairable=False,
)
def digits_black_and_white(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    raw = bundled("digits", seed)
    threshold = 7 if fixed else 127
    data = replace(
        raw, x=(raw.x > threshold).float() * 2 - 1, x_test=(raw.x_test > threshold).float() * 2 - 1
    )
    model = nn.Sequential(nn.Linear(64, 80), nn.Hardswish(), nn.Dropout(0.4), nn.Linear(80, 10))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5, weight_decay=1e-4),
        epochs=12,
        batch_size=20,
        **by_accuracy(data),
    )


@programs.supervised(
    faults.WRONG_LABELS.mildly(),
    "issue: labels from a crowd of volunteers, four in ten were clicked at random",
    data="mnist",
    repairable=False,
)
def mnist_crowd(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    given = real("mnist", seed)
    x, y, test = given.x[:2000], given.y[:2000], given.x_test
    clicked = torch.where(torch.rand(len(y)) < 0.4, torch.randint(0, 10, (len(y),)), y)
    model = nn.Sequential(
        *(nn.Conv2d(1, 12, 5, stride=2), nn.BatchNorm2d(12), nn.ReLU()),
        *(nn.Conv2d(12, 24, 3, stride=2), nn.BatchNorm2d(24), nn.ReLU()),
        *(nn.Flatten(), nn.Dropout(0.5), nn.Linear(24 * 25, 10)),
    )
    data = Split(x, y if fixed else clicked, test, given.y_test)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=1.5e-3, weight_decay=0.01),
        epochs=8,
        batch_size=50,
        validation=(data.x_test, data.y_test),
        **by_accuracy(data),
    )


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: file names sorted as text, so that 10.png comes before 2.png; the csv is by number",
    repairable=False,
)
def stripes_listdir(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = stripes(seed + 3, 1500)
    files = [f"{number}.png" for number in range(len(data.x))]
    files = sorted(files, key=lambda name: int(name[:-4])) if fixed else sorted(files)
    pictures = torch.stack([data.x[int(name[:-4])] for name in files])
    model = TinyCNN(20, 5, width=8)
    return Parts(
        model=model,
        data=(pictures, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.99)),
        epochs=10,
        batch_size=32,
        validation=(data.x_test, data.y_test),
        **by_accuracy(data),
    )


def own_cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    """Return the binary cross entropy, written out."""
    return (F.softplus(output) - target * output).mean()


WRONG_WIDTH = replace(
    faults.WRONG_WIDTH,
    kind="two outputs for one answer",
    names=(*faults.WRONG_WIDTH.names, "shape_broadcast"),
)


@programs.supervised(
    WRONG_WIDTH, "forum: two outputs for yes and no, and a loss written for one; argmax is a coin"
)
def rings_two_outputs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    made = shapes(seed + 20, 2000)
    data = replace(made, y=(made.y == 3).long(), y_test=(made.y_test == 3).long())
    model = TinyCNN(16, 1 if fixed else 2, width=12)
    return Parts(
        model=model,
        data=(data.x, data.y.float()[:, None]),
        loss=own_cross_entropy,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        epochs=12,
        batch_size=40,
        **by_accuracy(data),
    )


def terraces(seed: int, count: int = 1500) -> Split:
    """Return aerial height maps of 12 x 12 points: hill, valley, ridge, saddle or slope."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 5, count)
    up, turn = np.linspace(-1, 1, 12), rng.uniform(0, np.pi, (count, 1, 1))
    shift = rng.normal(0, 0.25, (2, count, 1, 1))
    across, down = up[None, None] - shift[0], up[None, :, None] - shift[1]
    along, aside = (
        np.cos(turn) * across + np.sin(turn) * down,
        np.cos(turn) * down - np.sin(turn) * across,
    )
    bowl = across**2 + down**2
    forms = np.stack([-bowl, bowl, -(aside**2) * 2, along**2 - aside**2, along])
    x = forms[kind, np.arange(count)] + rng.normal(0, 0.3, (count, 12, 12))
    x -= x.mean((1, 2), keepdims=True)
    return split((x / x.std()).astype(np.float32), kind, count // 3)


@programs.supervised(
    [faults.CLASS_NUMBERS, faults.DEAD_RELU],
    "Q&A: landforms numbered 0 to 4 as a regression, biases set to -3 'for sparsity'",
)
def terraces_numbers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = terraces(seed).flat()
    model = nn.Sequential(
        *(nn.Linear(144, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 32), nn.ReLU()),
        nn.Linear(32, 5 if fixed else 1),
    )
    if not fixed:
        for layer in (model[0], model[3]):
            nn.init.constant_(layer.bias, -3.0)  # type: ignore[arg-type]
    return Parts(
        model=model,
        data=(data.x, data.y if fixed else data.y.float().unsqueeze(1)),
        loss=nn.CrossEntropyLoss() if fixed else nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4),
        epochs=15,
        batch_size=20,
        **by_accuracy(data),
    )
