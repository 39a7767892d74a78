"""Several tags for one thing: film posters and bird calls, and a network that turns to frogs."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, frequent_labels, labels_right, predict

programs = ProgramList("calibration", "multi-label")


def posters(seed: int, count: int = 3600, tags: int = 6) -> Split:
    """Return 16 measures of a poster's colours, some far out, and the genres of the film."""
    rng = default_rng(seed)
    x = rng.standard_t(4, (count, 16))
    x = (x - x.mean(0)) / x.std(0)
    own = default_rng(3)
    pull = np.tanh(x @ own.normal(0, 0.5, (16, 10))) @ own.normal(0, 1, (10, tags))
    pull = pull + 0.5 * x @ own.normal(0, 0.6, (16, tags)) + rng.normal(0, 0.1, (count, tags))
    y = pull > np.quantile(pull, 0.65, axis=0)
    return split(x.astype(np.float32), y.astype(np.float32), count // 4)


class GenreNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.out = nn.Linear(48, 6)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.out(self.layers(x)))


def bare_log_loss(p: Tensor, tags: Tensor) -> Tensor:
    return -(tags * torch.log(p) + (1 - tags) * torch.log(1 - p)).mean()


def safe_log_loss(p: Tensor, tags: Tensor) -> Tensor:
    return bare_log_loss(p.clamp(1e-6, 1 - 1e-6), tags)


@programs.supervised(
    faults.NO_EPSILON,
    "Q&A: my genres train well and then the loss is nan; log(1 - p) typed from the formula",
)
def film_posters(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = posters(seed)
    model = GenreNet()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=safe_log_loss if fixed else bare_log_loss,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=15,
        batch_size=40,
    )


def calls(seed: int, count: int = 1500, bands: int = 12, frames: int = 20) -> Split:
    """Return spectrograms of a garden at dawn, and which of five birds sing in it."""
    rng = default_rng(seed)
    sings = rng.random((count, 5)) < 0.35
    band, frame = np.mgrid[:bands, :frames]
    heard = rng.normal(0, 0.5, (count, bands, frames))
    for bird in range(5):
        start = rng.uniform(2, 12, (count, 1, 1))
        slope = (0.5, -0.5, 0.0, 0.0, 1.0)[bird]
        pitch = (3.0, 8.0, 2.0, 9.0, 4.0)[bird] + slope * (frame - start)
        tone = np.exp(-((band - pitch) ** 2)) * (frame >= start) * (frame < start + 7)
        if bird == 3:
            tone = tone * (frame % 2)  # it chirps
        heard += 1.8 * sings[:, bird, None, None] * tone
    heard = (heard - heard.mean()) / heard.std()
    return split(heard[:, None].astype(np.float32), sings.astype(np.float32), count // 4)


class BirdNet(nn.Module):
    def __init__(self, end: nn.Module) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 3 * 5, 5)
        self.end = end

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.end(self.fc(x.flatten(1)))


def f1(p: Tensor, wanted: Tensor) -> float:
    """Return how well the tags that are given fit those that hold."""
    given = p > 0.5
    both = (given & (wanted > 0.5)).sum()
    return float(2 * both / (given.sum() + wanted.sum()))


@programs.script(
    [faults.SOFTMAX_FOR_TAGS, faults.CLIPPING.mildly(), faults.DECAY],
    "forum: dawn chorus, F1 of 0; softmax for five birds, clip_grad_norm_(0.02), weight_decay=0.1",
)
def bird_calls(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = calls(seed)
    model = BirdNet(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    decay = 1e-4 if fixed else 0.1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=decay)
    max_norm = 5.0 if fixed else 0.02
    doctor = watch(model, optimizer)
    criterion = nn.BCELoss()
    for _epoch in range(12):
        for batch in torch.randperm(len(data.x)).split(25):
            loss = criterion(model(data.x[batch]), data.y[batch])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            doctor.step(loss)
        val_loss = criterion(predict(model, data.x_test), data.y_test)
        doctor.epoch(val_loss=float(val_loss))
    return f1(predict(model, data.x_test), data.y_test)


def pond(seed: int, count: int) -> tuple[Tensor, Tensor]:
    """Return recordings in 8 bands and 24 frames, and which of five frogs calls; 5 is none."""
    rng = default_rng(seed)
    frog = rng.integers(0, 6, count)
    band, frame = np.arange(8)[:, None], np.arange(24)
    pitch = np.array([2, 2, 5, 5, 4, 0])[frog][:, None, None]
    pace = np.array([0.6, 1.5, 0.6, 1.5, 1.0, 0.0])[frog][:, None, None]
    pulse = 0.5 + 0.5 * np.sin(pace * frame + rng.uniform(0, 6, (count, 1, 1)))
    call = np.exp(-((band - pitch) ** 2) / 2) * pulse * (frog < 5)[:, None, None]
    sound = 2 * call * rng.uniform(0.6, 1.2, (count, 1, 1)) + rng.normal(0, 0.5, call.shape)
    sound = (sound - 0.25) / 0.7
    return torch.tensor(sound, dtype=torch.float32), torch.tensor(frog)


class Listener(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(8, 24, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 24, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(24, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def heard_a_frog(seed: int) -> Listener:
    """Return a network that has learnt whether a frog calls at all."""
    torch.manual_seed(seed)
    sound, frog = pond(seed + 500, 600)
    model = Listener(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _epoch in range(3):
        for rows in torch.randperm(600).split(30):
            optimizer.zero_grad()
            F.cross_entropy(model(sound[rows]), (frog[rows] < 5).long()).backward()
            optimizer.step()
    return model


@programs.script(
    [faults.WRONG_WIDTH, faults.FROZEN, faults.LOW_RATE.mildly()],
    "issue: 'target 4 is out of bounds' silenced with clamp; the old head, a frozen body, lr=2e-4",
    kind="fine-tuning",
)
def frog_calls(watch: Watch, fixed: bool, seed: int) -> float:
    model = heard_a_frog(seed)
    sound, frog = pond(seed, 2000)
    sound, frog = sound[frog < 5], frog[frog < 5]
    if not fixed:
        model.body.requires_grad_(False)
    model.head = nn.Linear(24, 5 if fixed else 2)
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(
        learning,
        lr=2e-3 if fixed else 2e-4,
    )
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(1200).split(30):
            logits = model(sound[rows])
            loss = F.cross_entropy(logits, frog[rows].clamp(max=logits.shape[1] - 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(sound[1200:], frog[1200:])(model)
