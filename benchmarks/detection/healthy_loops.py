"""Healthy runs with custom loops: GANs, contrastive learning, VAEs, fine-tuning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.detection.case import Watch
from benchmarks.detection.data_sets import Data, load
from benchmarks.detection.training_loop import accuracy, batches, clipped

Run = Callable[[int, Path | None, Watch], float]
STEPS = 250
EPOCHS = 12  # about what these steps come to


def begin(name: str, seed: int, folder: Path | None) -> Data:
    torch.manual_seed(seed)
    return load(name, seed % 2, folder)


def fc(inputs: int, *widths: int) -> nn.Sequential:
    """Return linear layers with ReLU between them, on flat inputs."""
    layers: list[nn.Module] = [nn.Flatten()]
    for a, b in zip((inputs, *widths), widths, strict=False):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def convolutional(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten()),
        nn.Linear(16 * 16, outputs),
    )


def stream(data: Data, seed: int, size: int = 64) -> Iterator[tuple[Tensor, Tensor]]:
    return batches(data, size, torch.Generator().manual_seed(seed))


def descend(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Take one optimizer step on the loss."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def hit_rate(model: nn.Module, data: Data) -> float:
    model.eval()
    with torch.no_grad():
        return accuracy(model(data.x_test).argmax(-1), data.y_test, data.size)


def by_neighbour(code: nn.Module, data: Data) -> float:
    """Return the accuracy of a nearest-neighbour classifier on the model's outputs."""
    code.eval()
    with torch.no_grad():
        near = torch.cdist(code(data.x_test), code(data.x)).argmin(1)
    return accuracy(data.y[near], data.y_test, data.size)


def fine_tune(frozen: bool, cnn: bool, seed: int, folder: Path | None, watch: Watch) -> float:
    """Learn odd and even digits first, then only a new head for the digits themselves.

    The rest is frozen, or not passed to the optimizer.
    """
    data = begin("digits", seed, folder)
    model = convolutional(2) if cnn else fc(64, 64, 64, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for x, y in islice(stream(data, seed), 100):
        descend(F.cross_entropy(model(x), y % 2), optimizer)
    head = nn.Linear(256 if cnn else 64, 10)
    model[-1] = head
    for parameter in model[:-1].parameters():
        parameter.grad = None
        parameter.requires_grad_(not frozen)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    watch.begin(model, optimizer, EPOCHS)
    for x, y in islice(stream(data, seed + 1), STEPS):
        model.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        descend(loss, optimizer)
        watch.step(loss, outputs=out, targets=y)
    return hit_rate(model, data)


def gan(watched: str, least_squares: bool, seed: int, folder: Path | None, watch: Watch) -> float:
    """Train a GAN on the blobs and watch one of its two networks."""
    data = begin("blobs", seed, folder)
    compare = F.mse_loss if least_squares else F.binary_cross_entropy_with_logits
    generator, critic = fc(4, 32, 32, 2), fc(2, 32, 32, 1)
    for_generator = torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.9))
    for_critic = torch.optim.Adam(critic.parameters(), lr=0.002, betas=(0.5, 0.9))
    away = torch.tensor([2.0, -1.0])  # starts far away, so that learning is visible
    real_test = data.x_test[:, :2] + away
    before = energy(generator(torch.randn(500, 4)).detach(), real_test)
    if watched == "generator":
        watch.begin(generator, for_generator, 2 * EPOCHS)
    else:
        watch.begin(critic, for_critic, 2 * EPOCHS)
    for x, _ in islice(stream(data, seed), 2 * STEPS):
        real, noise = x[:, :2] + away, torch.randn(len(x), 4)
        ones, zeros = torch.ones(len(x), 1), torch.zeros(len(x), 1)
        seen = compare(critic(real), ones) + compare(critic(generator(noise).detach()), zeros)
        descend(seen, for_critic)
        made = compare(critic(generator(noise)), ones)
        descend(made, for_generator)
        watch.step(made if watched == "generator" else seen)
    return clipped(1 - energy(generator(torch.randn(500, 4)).detach(), real_test) / before)


def energy(a: Tensor, b: Tensor) -> float:
    """Return the energy distance of two sets of points: 0 for equal distributions."""
    between = torch.cdist(a, b).mean()
    return (2 * between - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def contrastive(name: str, warmth: float, seed: int, folder: Path | None, watch: Watch) -> float:
    """Match two noisy views of each sample (InfoNCE)."""
    data = begin(name, seed, folder)
    model = fc(data.x[0].numel(), 64, 32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    watch.begin(model, optimizer, EPOCHS)

    def likeness(x: Tensor) -> Tensor:
        views = (F.normalize(model(x + 0.7 * torch.randn(x.shape)), dim=1) for _ in range(2))
        return next(views) @ next(views).T

    for x, _ in islice(stream(data, seed), STEPS):
        similar = likeness(x) / warmth
        own = torch.arange(len(x))
        loss = F.cross_entropy(similar, own)
        descend(loss, optimizer)
        watch.step(loss, outputs=similar, targets=own)
    model.eval()
    with torch.no_grad():
        return accuracy(likeness(data.x_test[:100]).argmax(1), torch.arange(100), 0)


def triplet(margin: float, seed: int, folder: Path | None, watch: Watch) -> float:
    """Pull samples of a class together and push others away (triplet loss)."""
    data = begin("digits", seed, folder)
    model = fc(64, 48, 16)
    compare = nn.TripletMarginLoss(margin)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    watch.begin(model, optimizer, EPOCHS)
    for x, y in islice(stream(data, seed), STEPS):
        same = (y[:, None] == y).float().fill_diagonal_(0) + 1e-9
        other = (y[:, None] != y).float() + 1e-9
        code = model(x)
        loss = compare(code, code[same.multinomial(1)[:, 0]], code[other.multinomial(1)[:, 0]])
        descend(loss, optimizer)
        watch.step(loss)
    return by_neighbour(model, data)


class Variational(nn.Module):
    def __init__(self, inputs: int, code: int) -> None:
        super().__init__()
        self.encoder, self.decoder = fc(inputs, 48, 2 * code), fc(code, 48, inputs)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, spread = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * spread).exp() * self.training
        return self.decoder(code), mean, spread


def vae(name: str, weight: float, seed: int, folder: Path | None, watch: Watch) -> float:
    """Train a variational autoencoder."""
    data = begin(name, seed, folder)
    model = Variational(data.x[0].numel(), 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    watch.begin(model, optimizer, EPOCHS)
    for x, _ in islice(stream(data, seed), STEPS):
        made, mean, spread = model(x)
        gap = (mean**2 + spread.exp() - spread - 1).sum(1).mean() / 2
        loss = F.mse_loss(made, x.flatten(1)) + weight * gap
        descend(loss, optimizer)
        watch.step(loss)
    model.eval()
    with torch.no_grad():
        wrong = F.mse_loss(model(data.x_test)[0], data.x_test.flatten(1))
    return clipped(1 - (wrong / data.x_test.flatten(1).var(0).mean()).item())


def averaged(cnn: bool, seed: int, folder: Path | None, watch: Watch) -> float:
    """Score an exponential moving average of the weights."""
    data = begin("digits", seed, folder)
    model = convolutional(10) if cnn else fc(64, 48, 48, 10)
    slow = deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004)
    watch.begin(model, optimizer, EPOCHS)
    for x, y in islice(stream(data, seed), STEPS):
        out = model(x)
        loss = F.cross_entropy(out, y)
        descend(loss, optimizer)
        for old, new in zip(slow.parameters(), model.parameters(), strict=True):
            old.data.lerp_(new.data, 0.05)
        watch.step(loss, accuracy=accuracy(out.argmax(-1), y, 0))
    return hit_rate(slow, data)


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.main, self.side = fc(64, 48, 48), nn.Linear(48, 10), nn.Linear(48, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.trunk(x).relu()
        return self.main(seen), self.side(seen)


def auxiliary(weight: float, seed: int, folder: Path | None, watch: Watch) -> float:
    """Classify digits, with an auxiliary loss for odd and even."""
    data = begin("digits", seed, folder)
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    watch.begin(model, optimizer, EPOCHS)
    for x, y in islice(stream(data, seed), STEPS):
        out, odd = model(x)
        side = F.binary_cross_entropy_with_logits(odd[:, 0], (y % 2).float())
        loss = F.cross_entropy(out, y) + weight * side
        descend(loss, optimizer)
        watch.step(loss)
    model.eval()
    with torch.no_grad():
        return accuracy(model(data.x_test)[0].argmax(-1), data.y_test, data.size)


RUNS: list[tuple[str, str, Run]] = [
    ("fine-tune-frozen", "digits", partial(fine_tune, True, False)),
    ("fine-tune-head", "digits", partial(fine_tune, False, False)),
    ("fine-tune-frozen-cnn", "digits", partial(fine_tune, True, True)),
    ("fine-tune-head-cnn", "digits", partial(fine_tune, False, True)),
    *(
        (f"gan-{watched}{'-ls' if squares else ''}", "blobs", partial(gan, watched, squares))
        for watched in ("generator", "critic")
        for squares in (False, True)
    ),
    *((f"infonce-{name}", name, partial(contrastive, name, 0.1)) for name in ("digits", "mnist")),
    ("infonce-warm", "digits", partial(contrastive, "digits", 0.5)),
    *((f"triplet{margin:g}", "digits", partial(triplet, margin)) for margin in (0.5, 1.0)),
    *((f"vae-{name}", name, partial(vae, name, 0.002)) for name in ("digits", "mnist")),
    *((f"ema{'-cnn' * cnn}", "digits", partial(averaged, cnn)) for cnn in (False, True)),
    *((f"auxiliary{weight:g}", "digits", partial(auxiliary, weight)) for weight in (0.3, 1.0)),
]
