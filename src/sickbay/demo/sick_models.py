"""A small sick network for each of eight problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn, optim

from sickbay.demo.circles import circles
from sickbay.recipe import Recipe

SAMPLES, BATCH, WIDTH = 1024, 64, 32
Samples = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Patient:
    """A sick network with its data."""

    about: str
    make: Callable[[], tuple[Recipe, Samples, Samples]]


def layers(
    *sizes: int, hidden: Callable[[], nn.Module] = nn.ReLU, gain: float = 1.0
) -> nn.Sequential:
    """Return linear layers with activations in between, drawn from a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    made: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        linear = nn.Linear(inputs, outputs)
        with torch.no_grad():
            limit = gain / inputs**0.5
            linear.weight.uniform_(-limit, limit, generator=generator)
            linear.bias.zero_()
        made += [linear, hidden()]
    return nn.Sequential(*made[:-1])


def samples(scale: float = 1.0, classes: bool = False) -> tuple[Samples, Samples]:
    """Return points on two circles to train on and to look at."""
    pairs = [circles(SAMPLES, seed=seed) for seed in (0, 1)]
    train, held = [(scale * x, y.long().flatten() if classes else y) for x, y in pairs]
    return train, held


def patient(
    model: nn.Module,
    loss: nn.Module | None = None,
    lr: float = 3e-3,
    kind: Callable[..., optim.Optimizer] = optim.Adam,
    scale: float = 1.0,
    classes: bool = False,
) -> tuple[Recipe, Samples, Samples]:
    """Return a model with its data; what is not said is sound."""
    optimizer = kind(model.parameters(), lr=lr)
    recipe = Recipe(model, loss or nn.BCEWithLogitsLoss(), optimizer, batch_size=BATCH)
    return recipe, *samples(scale, classes)


def dead() -> tuple[Recipe, Samples, Samples]:
    """Return a network whose units are all switched off."""
    model = layers(2, WIDTH, WIDTH, WIDTH, 1, gain=2.4)
    with torch.no_grad():
        for name, bias in model.named_parameters():
            if name.endswith("bias") and len(bias) > 1:
                bias.fill_(-5.0)
    return patient(model)


sound = partial(layers, 2, WIDTH, WIDTH)
PATIENTS: Mapping[str, Patient] = {
    "vanishing_gradient": Patient(
        "eleven sigmoid layers of 64 units",
        lambda: patient(layers(2, *[64] * 11, 1, hidden=nn.Sigmoid), lr=1e-3),
    ),
    "exploding_gradient": Patient(
        "nine ReLU layers whose weights start five times too large, with SGD",
        lambda: patient(layers(2, *[64] * 9, 1, gain=12.0), kind=optim.SGD, lr=0.05),
    ),
    "dying_relu": Patient("three ReLU layers whose biases start at -5", dead),
    "oscillating_accuracy": Patient(
        "two tanh layers with a learning rate of 1",
        lambda: patient(sound(1, hidden=nn.Tanh), lr=1.0),
    ),
    "slow_convergence": Patient(
        "two ReLU layers with a learning rate of one millionth",
        lambda: patient(sound(1, gain=2.4), lr=1e-6),
    ),
    "improper_output": Patient(
        "a ReLU after the last layer, so that no output is ever negative",
        lambda: patient(nn.Sequential(*sound(1, gain=2.4), nn.ReLU())),
    ),
    "improper_loss": Patient(
        "cross-entropy over a single output, which is always 0",
        lambda: patient(sound(1, gain=2.4), nn.CrossEntropyLoss()),
    ),
    "abnormal_data": Patient(
        "inputs a thousand times too large, for plain SGD",
        lambda: patient(sound(1, gain=2.4), kind=optim.SGD, lr=0.05, scale=1e3),
    ),
}
