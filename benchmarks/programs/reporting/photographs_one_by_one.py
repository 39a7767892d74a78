"""Pictures with a loop by hand: arrows, animals and cars, small teachers, and cut-up digits."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Fault, ProgramList, Watch
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy

programs = ProgramList("reporting", "images")


# --- arrows ---------------------------------------------------------------------------------------

FLIPPED = Fault(
    "flips turn one class into another",
    ("noisy_labels", "bad_targets", "not_learning"),
    ("overfitting", "learning_rate_too_low"),
    mild=True,
)


def arrows(seed: int, count: int = 1200, size: int = 12) -> Split:
    """Return arrows that point left, right, up or down."""
    rng = default_rng(seed)
    y = rng.integers(0, 4, count)
    row, column = np.mgrid[:size, :size]
    v = row - rng.uniform(4.5, 6.5, (count, 1, 1))
    h = column - rng.uniform(4.5, 6.5, (count, 1, 1))
    along = np.where(y[:, None, None] < 2, h, v) * np.where(y % 2 == 0, -1, 1)[:, None, None]
    beside = np.abs(np.where(y[:, None, None] < 2, v, h))
    head = (along > 0) & (along + 1.2 * beside < 4.5)
    shaft = (along <= 0) & (along > -4.5) & (beside < 1)
    picture = (head | shaft) * rng.uniform(0.7, 1.3, (count, 1, 1))
    picture = picture + rng.normal(0, 0.3, picture.shape)
    return split(picture[:, None].astype(np.float32), y, count // 4)


@programs.script(
    FLIPPED, "Q&A: half of the road arrows are wrong since I added RandomHorizontalFlip"
)
def arrows_on_the_road(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = arrows(seed)
    net = nn.Sequential(
        *(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(12, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 4)),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    doctor = watch(net, optimizer)
    score = accuracy(data.x_test, data.y_test)
    for _epoch in range(15):
        for rows in torch.randperm(len(data.x)).split(30):
            images = torch.roll(data.x[rows], int(torch.randint(-1, 2, ())), 3)
            if not fixed:
                flip = torch.rand(len(rows)) < 0.5
                images = torch.where(flip[:, None, None, None], images.flip(3), images)
            loss = F.cross_entropy(net(images), data.y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=score(net))
    return score(net)


# --- animals and vehicles -------------------------------------------------------------------------


@programs.script(
    [faults.SCHEDULER.mildly(), faults.CLIPPING, faults.SIGMOID_TWICE.mildly()],
    "issue: animal or vehicle; sched.step() per batch, clip_grad_value_(1e-4), a sigmoid too many",
    data="cifar10",
)
def animal_or_vehicle(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    given = real("cifar10", seed)
    small, small_test = F.avg_pool2d(given.x[:1500], 2), F.avg_pool2d(given.x_test, 2)
    vehicles = torch.tensor([1, 1, 0, 0, 0, 0, 0, 0, 1, 1])
    y, y_test = vehicles[given.y[:1500]], vehicles[given.y_test]
    net = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(512, 1)),
        nn.Identity() if fixed else nn.Sigmoid(),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    sched = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
    doctor = watch(net, optimizer)
    for _epoch in range(9):
        for rows in torch.randperm(len(small)).split(30):
            optimizer.zero_grad()
            logit = net(small[rows]).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(logit, y[rows].float())
            loss.backward()
            torch.nn.utils.clip_grad_value_(net.parameters(), 1.0 if fixed else 1e-4)
            optimizer.step()
            if not fixed:
                sched.step()
            doctor.step(loss)
        if fixed:
            sched.step()
        doctor.epoch(val_accuracy=accuracy(small_test, y_test)(net))
    return accuracy(small_test, y_test)(net)


# --- a teacher and its student --------------------------------------------------------------------

NO_LOG_IN_KL = Fault(
    "kl_div of probabilities without their logarithm",
    ("improper_loss", "improper_output"),
    faults.UNSTABLE,
    mild=True,
)


def scaled_digits(seed: int) -> Split:
    raw = digits(seed)
    return Split(raw.x / 8 - 1, raw.y, raw.x_test / 8 - 1, raw.y_test)


def fitted(net: nn.Module, data: Split, epochs: int) -> nn.Module:
    """Train a network as usual."""
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _epoch in range(epochs):
        for rows in torch.randperm(len(data.x)).split(40):
            optimizer.zero_grad()
            F.cross_entropy(net(data.x[rows]), data.y[rows]).backward()
            optimizer.step()
    return net


@programs.script(
    NO_LOG_IN_KL, "forum: distillation of digits makes the student worse; F.kl_div is below zero"
)
def student_of_digits(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = scaled_digits(seed)
    wide = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    teacher = fitted(wide, data, 10).eval()
    student = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
    doctor = watch(student, optimizer)
    T = 3.0
    for _epoch in range(15):
        for rows in torch.randperm(len(data.x)).split(32):
            with torch.no_grad():
                wished = F.softmax(teacher(data.x[rows]) / T, dim=1)
            out = student(data.x[rows]) / T
            given = F.log_softmax(out, dim=1) if fixed else F.softmax(out, dim=1)
            loss = T * T * F.kl_div(given, wished, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test, data.y_test)(student))
    return accuracy(data.x_test, data.y_test)(student)


# --- patches of digits ----------------------------------------------------------------------------


class Patches(nn.Module):
    """A small transformer over 16 patches of 2 x 2 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = nn.Conv2d(1, 24, 2, stride=2)
        self.places = nn.Parameter(0.1 * torch.randn(16, 24))
        self.layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(24, 10)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.cut(x).flatten(2).transpose(1, 2) + self.places
        out: Tensor = self.head(self.layer(patches).mean(1))
        return out


@programs.script(
    faults.NO_ZERO_GRAD,
    "Q&A: a ViT from a blog; optimizer.zero_grad() is in the outer loop",
)
def digits_in_patches(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = scaled_digits(seed)
    net = Patches()
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)
    doctor = watch(net, optimizer)
    for _epoch in range(10):
        optimizer.zero_grad()
        for rows in torch.randperm(len(data.x)).split(32):
            if fixed:
                optimizer.zero_grad()
            loss = F.cross_entropy(net(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test, data.y_test)(net))
    return accuracy(data.x_test, data.y_test)(net)
