"""Whether a model can learn a few samples by heart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from math import inf, isfinite
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.first_pass import main_output
from sickbay.checkups.loss_levels import DISTANCES
from sickbay.checkups.restore_model import kept
from sickbay.checkups.short_training import Judge, training
from sickbay.checkups.without_dropout import without_dropout

RATES = (1e-3, 1e-2, 3e-4)  # of Adam, tried in this order
CLEAR = 0.05  # share of the whole fall
LARGE = 10.0  # targets that a linear output takes long to reach


@dataclass
class Attempt:
    """How the loss went.

    Attributes:
        start: The first loss.
        lowest: The lowest.
        steps: How many steps were made, with all rates.
        reached: Whether it was low enough.
        late: Whether the time was over first.
        falling: Whether the lowest loss was still falling when the steps were over.
    """

    start: float = inf
    lowest: float = inf
    steps: int = 0
    reached: bool = False
    late: bool = False
    falling: bool = False


def memorise(
    case: Case, batch: Batch, goal: Callable[[float], float], steps: int, seconds: float
) -> Attempt:
    """Train a patient on a batch until the loss is at its goal, which is told from its start."""
    attempt, end, judge = Attempt(), perf_counter() + seconds, _judge(case, batch)
    with case.patient(training=True) as model, without_dropout(model):
        held = [each for each in model.parameters() if each.requires_grad]
        for rate in RATES:
            with kept(model):
                optimizer, losses = torch.optim.Adam(held, lr=rate), list[float]()
                for loss in islice(training(model, batch, optimizer, case.run, judge), steps + 1):
                    if attempt.start == inf:
                        attempt.start = loss
                    losses.append(loss)
                    if loss < attempt.lowest:
                        attempt.lowest, attempt.falling = loss, _falls(losses)
                    attempt.reached = attempt.lowest <= goal(attempt.start)
                    attempt.late = perf_counter() > end
                    if attempt.reached or attempt.late or not isfinite(loss):
                        break
                    attempt.steps += 1
            if attempt.reached or attempt.late:
                break
    return attempt


def _falls(losses: list[float]) -> bool:
    """Tell whether the last quarter of the steps has brought a clear part of the fall.

    >>> _falls([4.0, 3.0, 2.0, 1.0]), _falls([4.0, 1.0, 1.0, 1.0])
    (True, False)
    """
    before = min(losses[: -(len(losses) // 4)] or losses)
    return before - losses[-1] > CLEAR * (losses[0] - losses[-1])


def varied(batch: Batch, count: int) -> Batch:
    """Return a few samples, with different targets first.

    >>> varied(Batch.of((torch.arange(6.0), torch.tensor([1, 1, 1, 0, 1, 2]))), 3).main.tolist()
    [0.0, 3.0, 5.0]
    """
    targets = batch.targets
    if targets is None or len(targets) != batch.size or targets.numel() != batch.size:
        return batch.first(count)
    values = targets.flatten().tolist()
    new = [place for place, value in enumerate(values) if value not in values[:place]]
    rest = [place for place in range(batch.size) if place not in new]
    return batch.rows(torch.tensor(sorted([*new, *rest][:count])))


def _judge(case: Case, batch: Batch) -> Judge:
    """Return the loss; large targets of a linear output are brought near instead of waited for."""
    targets, origin = batch.targets, case.seen.origin
    if targets is None or origin.loss not in DISTANCES or origin.output != "linear":
        return case.loss_of
    middle, spread = targets.float().mean(), targets.float().std().clamp(min=1.0)
    if targets.abs().max() <= LARGE:
        return case.loss_of

    def judge(raw: Any, batch: Batch) -> Tensor | None:
        return case.loss_of(main_output(raw) * spread + middle, batch)

    return judge
