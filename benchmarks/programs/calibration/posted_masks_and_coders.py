"""Networks that draw: masks of floods, outlines of leaves, and coins made new."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import explained, predict

programs = ProgramList("calibration", "autoencoders")


def floods(seed: int, count: int = 360, size: int = 20) -> Split:
    """Return radar pictures before and after the rain, and where the water stands."""
    rng = default_rng(seed)
    row, column = np.mgrid[:size, :size] / size
    land = np.zeros((count, size, size))
    for _hill in range(4):
        rows, columns = rng.uniform(0, 7, (2, count, 1, 1))
        land += np.sin(rows * row + columns * column + rng.uniform(0, 6, (count, 1, 1)))
    level = np.quantile(land, 0.3, axis=(1, 2), keepdims=True) + rng.normal(0, 0.3, (count, 1, 1))
    wet = land < level
    before = 0.5 + 0.1 * land + rng.normal(0, 0.2, land.shape)
    after = before - 0.5 * wet + rng.normal(0, 0.2, land.shape)
    radar = np.stack([before, after], 1)
    radar = (radar - radar.mean((0, 2, 3), keepdims=True)) / radar.std((0, 2, 3), keepdims=True)
    return split(radar.astype(np.float32), wet[:, None].astype(np.float32), count // 4)


class FloodNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 12, 3, padding=1)
        self.down = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.last = nn.Conv2d(24, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        fine = F.relu(self.first(x))
        coarse = F.relu(self.up(F.relu(self.down(fine))))
        return self.last(torch.cat([fine, coarse], dim=1))


def soft_dice(logits: Tensor, mask: Tensor) -> Tensor:
    p = torch.sigmoid(logits)
    both = (p * mask).sum((1, 2, 3))
    return ((2 * both + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()


def dice_loss(logits: Tensor, mask: Tensor) -> Tensor:
    return 1 - soft_dice(logits, mask)


def flooded(inputs: Tensor, mask: Tensor) -> Score:
    """Return the Dice coefficient of the thresholded mask."""

    def score(model: nn.Module) -> float:
        return overlap_of((predict(model, inputs) > 0).float(), mask)

    return score


def overlap_of(guess: Tensor, mask: Tensor) -> float:
    return float(2 * (guess * mask).sum() / (guess.sum() + mask.sum()))


@programs.supervised(
    faults.WRONG_SIGN,
    "issue: the Dice loss goes to zero and so does the mask; the coefficient itself is minimised",
    kind="images",
)
def flood_maps(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = floods(seed)
    model = FloodNet()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=dice_loss if fixed else soft_dice,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=flooded(data.x_test, data.y_test),
        constant=overlap_of(torch.ones_like(data.y_test), data.y_test),
        epochs=16,
        batch_size=18,
    )


def outlines(seed: int, count: int = 2000, points: int = 48) -> Tensor:
    """Return leaves as the distance of 48 points of their edge from the stalk, standardised."""
    rng = default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
    lobes, depth, lean, length = rng.normal(0, 1, (4, count, 1))
    radius = (2 + 0.5 * length) * (1 + 0.3 * np.cos(angle) + 0.15 * lean * np.sin(angle))
    radius = radius + 0.3 * depth * np.cos(3 * angle) + 0.3 * lobes * np.cos(5 * angle + lean)
    radius = radius + rng.normal(0, 0.05, radius.shape)
    radius = (radius - radius.mean(0)) / radius.std(0)
    return torch.tensor(radius, dtype=torch.float32)


class LeafCoder(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 6))
        self.decoder = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), last)

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def distance(output: Tensor, outline: Tensor) -> Tensor:
    return (output - outline).square().mean(1).mean()


def distance_of_means(output: Tensor, outline: Tensor) -> Tensor:
    return (output - outline).mean(1).square().mean()


@programs.supervised(
    [faults.WRONG_DIMENSION, faults.BOUNDED_OUTPUT.mildly()],
    "forum: the loss is 1e-6 but all leaves look alike; the mean taken before the square, and tanh",
)
def leaf_outlines(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    outline = outlines(seed)
    train, test = outline[:1500], outline[1500:]
    model = LeafCoder(nn.Identity() if fixed else nn.Tanh())
    return Parts(
        model=model,
        data=(train, train),
        loss=distance if fixed else distance_of_means,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(test, test),
        constant=0.0,
        epochs=20,
        batch_size=50,
    )


def coins(seed: int, count: int = 2800, size: int = 12) -> tuple[Tensor, Tensor]:
    """Return worn coins as they are found, and as they were: a rim, a cross or bars, a hole."""
    rng = default_rng(seed)
    row, column = np.mgrid[:size, :size] - (size - 1) / 2
    radius = np.hypot(row, column)
    edge = rng.uniform(4.0, 5.8, (count, 1, 1))
    turn = rng.uniform(0, np.pi, (count, 1, 1))
    bars = np.abs(np.cos(turn) * row + np.sin(turn) * column) < 1.1
    cross = bars | (np.abs(np.cos(turn) * column - np.sin(turn) * row) < 1.1)
    stamp = np.where(rng.random((count, 1, 1)) < 0.5, bars, cross)
    hole = (radius < 1.6) & (rng.random((count, 1, 1)) < 0.4)
    new = (radius < edge) * (0.4 + 0.6 * stamp) * ~hole
    new = (new - new.mean()) / new.std()
    worn = new * rng.uniform(0.6, 1.0, (count, 1, 1)) + rng.normal(0, 0.5, new.shape)
    made = [torch.tensor(each, dtype=torch.float32).unsqueeze(1) for each in (worn, new)]
    return made[0], made[1]


class CoinCoder(nn.Module):
    """A denoising autoencoder. `stop` keeps the decoder's gradient away from the encoder."""

    def __init__(self, stop: bool) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(12 * 36, 32),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(32, 12 * 36), nn.ReLU(), nn.Unflatten(1, (12, 6, 6)),
            nn.ConvTranspose2d(12, 12, 2, stride=2), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1),
        )  # fmt: skip
        self.stop = stop

    def forward(self, x: Tensor) -> Tensor:
        code = self.encoder(x)
        if self.stop:
            code = code.detach()  # to save memory
        return self.decoder(code)


@programs.script(
    [faults.DETACHED.mildly(), faults.SUM],
    "Q&A: coins come out as blobs or nan; code.detach() to save memory, and squares summed up",
)
def worn_coins(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    worn, new = coins(seed)
    order = torch.Generator().manual_seed(seed)
    found = TensorDataset(worn[:2300], new[:2300])
    loader = DataLoader(found, batch_size=30, shuffle=True, generator=order)
    model = CoinCoder(stop=not fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for noisy, clean in loader:
            optimizer.zero_grad()
            wrong = (model(noisy) - clean) ** 2
            loss = wrong.mean() if fixed else wrong.sum()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return explained(worn[2300:], new[2300:].flatten(1))(model)
