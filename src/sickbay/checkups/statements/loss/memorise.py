"""Training a copy of a model until it has memorised a few samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import inf, isfinite
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch
from sickbay.checkups.first_pass import main_output
from sickbay.checkups.loss_probes import DISTANCES
from sickbay.checkups.restore_model import restored
from sickbay.checkups.training_setup import Setup
from sickbay.checkups.training_steps import LossOf, training_losses

RATES = (1e-3, 1e-2, 3e-4)  # of Adam, in the order they are tried
CLEAR = 0.05  # share of the whole fall
LARGE = 10.0  # targets that a linear output takes long to reach


@dataclass
class Attempt:
    """How the loss developed.

    Attributes:
        start: The first loss.
        lowest: The lowest loss.
        steps: Steps taken at all learning rates.
        reached: Whether the goal was reached.
        timed_out: Whether time ran out first.
        falling: Whether the lowest loss was still falling in the last steps.
    """

    start: float = inf
    lowest: float = inf
    steps: int = 0
    reached: bool = False
    timed_out: bool = False
    falling: bool = False


def memorise(
    setup: Setup, batch: Batch, goal: Callable[[float], float], steps: int, seconds: float
) -> Attempt:
    """Train a copy on a batch until the loss reaches its goal, a function of the first loss."""
    attempt, end, loss_of = Attempt(), perf_counter() + seconds, _scaled_loss(setup, batch)
    with setup.model_copy(training=True) as model, _without_dropout(model):
        trainable = [each for each in model.parameters() if each.requires_grad]
        for rate in RATES:
            with restored(model):
                optimizer, history = torch.optim.Adam(trainable, lr=rate), list[float]()
                losses = training_losses(model, batch, optimizer, setup.run, loss_of)
                for loss in islice(losses, steps + 1):
                    if attempt.start == inf:
                        attempt.start = loss
                    history.append(loss)
                    if loss < attempt.lowest:
                        attempt.lowest, attempt.falling = loss, _is_falling(history)
                    attempt.reached = attempt.lowest <= goal(attempt.start)
                    attempt.timed_out = perf_counter() > end
                    if attempt.reached or attempt.timed_out or not isfinite(loss):
                        break
                    attempt.steps += 1
            if attempt.reached or attempt.timed_out:
                break
    return attempt


def varied_samples(batch: Batch, count: int) -> Batch:
    """Return a few samples, preferably with different targets.

    >>> batch = Batch.of((torch.arange(6.0), torch.tensor([1, 1, 1, 0, 1, 2])))
    >>> varied_samples(batch, 3).main.tolist()
    [0.0, 3.0, 5.0]
    """
    targets = batch.targets
    if targets is None or len(targets) != batch.size or targets.numel() != batch.size:
        return batch.first(count)
    values = targets.flatten().tolist()
    new = [place for place, value in enumerate(values) if value not in values[:place]]
    rest = [place for place in range(batch.size) if place not in new]
    return batch.select(torch.tensor(sorted([*new, *rest][:count])))


def _is_falling(losses: list[float]) -> bool:
    """Return whether the last quarter of the steps made a clear part of the fall.

    >>> _is_falling([4.0, 3.0, 2.0, 1.0]), _is_falling([4.0, 1.0, 1.0, 1.0])
    (True, False)
    """
    before = min(losses[: -(len(losses) // 4)] or losses)
    return before - losses[-1] > CLEAR * (losses[0] - losses[-1])


@contextmanager
def _without_dropout(model: nn.Module) -> Iterator[None]:
    """Disable dropout for a while, both as layers and as settings of layers.

    Layers without parameters, buffers and children have nothing to learn; they go to evaluation.

    >>> layer = nn.LSTM(2, 2, num_layers=2, dropout=0.5)
    >>> with _without_dropout(layer):
    ...     layer.dropout
    0.0
    >>> layer.dropout
    0.5
    """
    layers = [each for each in model.modules() if each.training and _holds_nothing(each)]
    holders = [each for each in model.modules() if isinstance(vars(each).get("dropout"), float)]
    settings = [(each, each.dropout) for each in holders]
    for layer in layers:
        layer.eval()
    for each in holders:
        each.dropout = 0.0  # type: ignore[assignment]
    try:
        yield
    finally:
        for layer in layers:
            layer.train()
        for each, share in settings:
            each.dropout = share


def _holds_nothing(layer: nn.Module) -> bool:
    parts = (layer.children(), layer.parameters(), layer.buffers())
    return not any(True for each in parts for _ in each)


def _scaled_loss(setup: Setup, batch: Batch) -> LossOf:
    """Return the loss; linear outputs are first scaled to targets too large to reach in time."""
    targets, origin = batch.targets, setup.first_pass.origin
    if targets is None or origin.loss not in DISTANCES or origin.output != "linear":
        return setup.loss_of
    if targets.abs().max() <= LARGE:
        return setup.loss_of
    mean, spread = targets.float().mean(), targets.float().std().clamp(min=1.0)

    def loss_of(raw: Any, batch: Batch) -> Tensor | None:
        return setup.loss_of(main_output(raw) * spread + mean, batch)

    return loss_of
