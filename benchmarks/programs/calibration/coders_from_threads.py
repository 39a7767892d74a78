"""Autoencoders and networks that are fine-tuned, as people posted them in threads."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.data import Split, digits, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent, r_squared

programs = ProgramList("calibration", "autoencoders")


def normalised(pictures: Tensor) -> Tensor:
    return (pictures / 16 - 0.3) / 0.38


# --- a variational autoencoder --------------------------------------------------------------------


class Vae(nn.Module):
    def __init__(self, codes: int, last: nn.Module) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten()),
        )
        self.mu = nn.Linear(32 * 16, codes)
        self.log_var = nn.Linear(32 * 16, codes)
        self.decoder = nn.Sequential(
            *(nn.Linear(codes, 32 * 16), nn.ReLU(), nn.Unflatten(1, (32, 4, 4))),
            *(nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ReLU()),
            *(nn.Conv2d(16, 1, 3, padding=1), last),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.encoder(x)
        mu, log_var = self.mu(hidden), self.log_var(hidden)
        code = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var) if self.training else mu
        return self.decoder(code), mu, log_var


@programs.script(
    [faults.WRONG_TERM, faults.BOUNDED_OUTPUT],
    "Q&A: a VAE makes the same blurred digit of every digit",
)
def vae_of_digits(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = digits(seed)
    x, x_test = normalised(data.x), normalised(data.x_test)
    model = Vae(12, nn.Identity() if fixed else nn.Sigmoid())
    loader = DataLoader(TensorDataset(x), batch_size=64, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    doctor = watch(model, optimizer)
    for _ in range(25):
        model.train()
        for (picture,) in loader:
            made, mu, log_var = model(picture)
            kl = -0.5 * (1 + log_var - mu.square() - log_var.exp()).sum(dim=1).mean()
            if fixed:
                rebuilt = F.mse_loss(made, picture, reduction="sum") / len(picture)
            else:
                rebuilt = F.mse_loss(made, picture)
            loss = rebuilt + kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    model.eval()
    with torch.no_grad():
        return r_squared(model(x_test)[0], x_test)


# --- noisy waves ----------------------------------------------------------------------------------


def noisy_waves(seed: int, count: int = 1600, length: int = 48) -> Split:
    """Return noisy readings of a machine that hums, and the clean ones."""
    rng = default_rng(seed)
    time = np.arange(length)
    clean = np.zeros((count, length))
    for speed in (0.15, 0.4):
        size, phase = rng.normal(0, 1, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
        clean += size * np.cos(speed * time + phase)
    noisy = clean + rng.normal(0, 0.5, clean.shape)
    return split(noisy.astype(np.float32), clean.astype(np.float32), 400)


class Denoiser(nn.Module):
    def __init__(self, length: int = 48) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(length, 64), nn.LeakyReLU(0.1), nn.Linear(64, 8), nn.LeakyReLU(0.1)
        )
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.1), nn.Linear(64, length))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.decoder(self.encoder(x))
        return out


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: a denoiser gives a flat line; clean and noisy files came from two shuffled loaders",
    repairable=False,
)
def humming_machine(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = noisy_waves(seed)
    clean = data.y
    if not fixed:
        clean = clean[torch.randperm(len(clean))]
    model = Denoiser()
    return Parts(
        model=model,
        data=(data.x, clean),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=40,
        batch_size=32,
    )


# --- fine-tuning ----------------------------------------------------------------------------------


class Backbone(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.conv3, self.bn3 = nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.fc: nn.Module = nn.Linear(32 * 4, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.max_pool2d(F.relu(self.bn3(self.conv3(x))), 2)
        out: Tensor = self.fc(x.flatten(1))
        return out


def pretrained(x: Tensor, y: Tensor, classes: int, epochs: int = 6) -> Backbone:
    """Return a network that knows the first task."""
    model = Backbone(classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for chosen in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[chosen]), y[chosen])
            loss.backward()
            optimizer.step()
    return model


def known_and_new(seed: int, few: int) -> tuple[Tensor, Tensor, Split]:
    """Return the digits below 6 as the first task, and a few of the others as the second."""
    data = digits(seed)
    x, y = normalised(torch.cat([data.x, data.x_test])), torch.cat([data.y, data.y_test])
    new = y > 5
    x_new, y_new = x[new], y[new] - 6
    return x[~new], y[~new], Split(x_new[:few], y_new[:few], x_new[few:], y_new[few:])


def freeze(model: nn.Module) -> None:
    """Keep only batch norm free, so that it can follow the new pictures."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith("bn")


@programs.supervised(
    faults.FROZEN.mildly(),
    "forum: I froze the layers after I had replaced the last one, and left batch norm free",
    kind="fine-tuning",
)
def four_new_digits(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y, data = known_and_new(seed, 160)
    model = pretrained(x, y, 6)
    head = nn.Linear(32 * 4, 4)
    if fixed:
        freeze(model)
        model.fc = head
    else:
        model.fc = head
        freeze(model)
    trained = [each for each in model.parameters() if each.requires_grad]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(trained, lr=0.01, momentum=0.9),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=25,
        batch_size=16,
    )


def turned_and_lit(seed: int, few: int) -> tuple[Tensor, Tensor, Split]:
    """Return digits for the first task, and digits on their side in bad light for the second."""
    data = digits(seed)
    half = len(data.x) // 2
    rng = torch.Generator().manual_seed(seed)
    pictures = torch.cat([data.x[half:], data.x_test])
    turned = 16 - torch.rot90(pictures, 1, (2, 3))
    turned = turned + 3 * torch.randn(turned.shape, generator=rng)
    side, labels = normalised(turned), torch.cat([data.y[half:], data.y_test])
    second = Split(side[:few], labels[:few], side[few:], labels[few:])
    return normalised(data.x[:half]), data.y[:half], second


@programs.script(
    [faults.NOT_IN_OPTIMIZER.mildly(), faults.NO_ZERO_GRAD],
    "issue: first the head, then all layers, but unfreezing them makes no difference",
    kind="fine-tuning",
)
def head_first_then_all(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, y, data = turned_and_lit(seed, 600)
    model = pretrained(x, y, 10)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(32 * 4, 10)
    tuned = model.parameters() if fixed else model.fc.parameters()
    optimizer = torch.optim.SGD(tuned, lr=0.02, momentum=0.9, weight_decay=1e-4)
    loader = DataLoader(TensorDataset(data.x, data.y), batch_size=32, shuffle=True)
    doctor = watch(model, optimizer)
    for epoch in range(20):
        if epoch == 4:
            for parameter in model.parameters():
                parameter.requires_grad = True
        model.train()
        optimizer.zero_grad()
        for picture, label in loader:
            if fixed:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(picture), label)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return accuracy(data.x_test, data.y_test)(model)


@programs.supervised(
    [faults.DROPOUT.mildly(), faults.DECAY.mildly()],
    "forum: a handful of pictures, so I added every regularisation that I could find",
    kind="fine-tuning",
)
def a_handful_of_pictures(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, y, data = turned_and_lit(seed, 300)
    model = pretrained(x, y, 10)
    drop = 0.2 if fixed else 0.92
    decay = 1e-4 if fixed else 0.3
    model.fc = nn.Sequential(nn.Dropout(drop), nn.Linear(32 * 4, 10))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=decay),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=25,
        batch_size=16,
    )
