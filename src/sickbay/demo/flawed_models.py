"""Two circles to tell apart, and a small network with a flaw for each of eight problems."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import pi

import numpy as np
import torch
from torch import Tensor, nn, optim

from sickbay.recipe import Recipe

BATCH, WIDTH = 64, 32
Samples = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class FlawedModel:
    """A network with a flaw, and its data."""

    flaw: str
    make: Callable[[], tuple[Recipe, Samples, Samples]]


def circles(count: int = 1024, noise: float = 0.08, seed: int = 0) -> Samples:
    """Return points on two circles around one centre, and on which of the two each is."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, count)
    angles = random.uniform(0, 2 * pi, count)
    radius = np.where(labels, 0.5, 1.0)[:, None]
    points = radius * np.stack([np.cos(angles), np.sin(angles)], 1)
    points += random.normal(0, noise, points.shape)
    return torch.from_numpy(points).float(), torch.from_numpy(labels).float()[:, None]


def layers(
    *sizes: int, hidden: Callable[[], nn.Module] = nn.ReLU, gain: float = 1.0
) -> nn.Sequential:
    """Return linear layers with activations in between, drawn from a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    modules: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        linear = nn.Linear(inputs, outputs)
        with torch.no_grad():
            limit = gain / inputs**0.5
            linear.weight.uniform_(-limit, limit, generator=generator)
            linear.bias.zero_()
        modules += [linear, hidden()]
    return nn.Sequential(*modules[:-1])


def _recipe(
    model: nn.Module,
    loss: nn.Module | None = None,
    lr: float = 3e-3,
    kind: Callable[..., optim.Optimizer] = optim.Adam,
    scale: float = 1.0,
) -> tuple[Recipe, Samples, Samples]:
    """Return a recipe, training and validation data; the defaults are sound."""
    optimizer = kind(model.parameters(), lr=lr)
    recipe = Recipe(model, loss or nn.BCEWithLogitsLoss(), optimizer, batch_size=BATCH)
    train, validation = (circles(seed=seed) for seed in (0, 1))
    return recipe, (scale * train[0], train[1]), (scale * validation[0], validation[1])


def _dead() -> tuple[Recipe, Samples, Samples]:
    model = layers(2, WIDTH, WIDTH, WIDTH, 1, gain=2.4)
    with torch.no_grad():
        for name, bias in model.named_parameters():
            if name.endswith("bias") and len(bias) > 1:
                bias.fill_(-5.0)
    return _recipe(model)


_layers = partial(layers, 2, WIDTH, WIDTH, 1)
FLAWED_MODELS: Mapping[str, FlawedModel] = {
    "vanishing_gradient": FlawedModel(
        "eleven sigmoid layers of 64 units",
        lambda: _recipe(layers(2, *[64] * 11, 1, hidden=nn.Sigmoid), lr=1e-3),
    ),
    "exploding_gradient": FlawedModel(
        "nine ReLU layers whose weights start five times too large, with SGD",
        lambda: _recipe(layers(2, *[64] * 9, 1, gain=12.0), kind=optim.SGD, lr=0.05),
    ),
    "dying_relu": FlawedModel("three ReLU layers whose biases start at -5", _dead),
    "oscillating_accuracy": FlawedModel(
        "two tanh layers with a learning rate of 1",
        lambda: _recipe(_layers(hidden=nn.Tanh), lr=1.0),
    ),
    "slow_convergence": FlawedModel(
        "two ReLU layers with a learning rate of one millionth",
        lambda: _recipe(_layers(gain=2.4), lr=1e-6),
    ),
    "improper_output": FlawedModel(
        "a ReLU after the last layer, so that no output is ever negative",
        lambda: _recipe(nn.Sequential(*_layers(gain=2.4), nn.ReLU())),
    ),
    "improper_loss": FlawedModel(
        "cross-entropy over a single output, which is always 0",
        lambda: _recipe(_layers(gain=2.4), nn.CrossEntropyLoss()),
    ),
    "abnormal_data": FlawedModel(
        "inputs a thousand times too large, for plain SGD",
        lambda: _recipe(_layers(gain=2.4), kind=optim.SGD, lr=0.05, scale=1e3),
    ),
}
