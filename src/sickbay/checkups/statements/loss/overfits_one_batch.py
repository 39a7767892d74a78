"""Longer than 60 lines: when to judge, the goal, the training and the verdict have rules."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from math import inf, isfinite
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.loss_probes import ignores_targets
from sickbay.checkups.statements.loss.loss_levels import Levels, levels
from sickbay.checkups.statements.loss.output_fits_the_targets import is_broadcast
from sickbay.checkups.training_passes import LossOf, main_output, training_losses
from sickbay.tasks import DISTANCES

STILL = 1e-3  # share of a loss that is no fall at all
SAME = 0.05  # share of the chance level that is next to nothing
CONSTANT = 0.98  # share of the constant level that is not better
HASTY = 10  # steps that say nothing if there was no time for more
RATES = (1e-3, 1e-2, 3e-4)  # of Adam, in the order they are tried
CLEAR = 0.05  # share of the whole fall
COMPARED = "check the sign of the loss, and the shapes and targets that it compares"
MORE = 4  # times as many samples as memorised: a batch that is not cut cannot be judged
LARGE = 10.0  # targets that a linear output takes long to reach


@dataclass(frozen=True, kw_only=True)
class OverfitsOneBatch(Statement):
    """The model can memorise a few samples.

    Why it matters:
        A model that cannot fit a few samples cannot fit a data set.

    How it is tested:
        The loss must be lower for perfect predictions than for chance, and not higher than for the
        best constant prediction, unless the loss has weights of its own. Then a copy without
        dropout is trained on `samples` samples with Adam, at up to three learning rates. Its loss
        must fall to `fraction` of the loss of the best constant prediction. With more than `few`
        targets, or if the loss is still falling, it only has to be lower than that of the constant
        prediction. With more than `many` targets, a larger batch that only runs as a whole, an
        unknown loss, or too little time, it only has to fall.
    """

    order = 4
    remedy = "look for a cut gradient, frozen layers, a wrong loss, or an output that cannot fit"

    samples: int = threshold(4, "Samples to memorise.", least=2)
    steps: int = threshold(100, "Steps at each learning rate.", least=1)
    seconds: float = threshold(4.0, "Time for all steps.", above=0)
    fraction: float = threshold(0.5, "Share of the constant prediction's loss to reach.", above=0)
    clear: float = threshold(0.1, "Share of the first loss that is a clear fall.", above=0)
    few: int = threshold(64, "Targets that can be memorised in so few steps.", least=1)
    many: int = threshold(1024, "Targets that cannot be memorised in so few steps.", least=1)

    def examine(self, setup: ModelSetup) -> Result:
        if reason := _untrainable(setup):
            return self.fails(reason)
        batch = _samples_to_memorise(setup, self.samples)
        output = known = None
        with suppress(Inapplicable):
            output = setup.evaluate(batch)
            known = levels(setup, batch, output)
        if known and known.best >= known.chance - STILL * abs(known.chance):
            return self.fails(_no_better(known.best, known.chance, "at chance"), remedy=COMPARED)
        if output is not None and _ignores_targets(setup, batch, output):
            return self.fails("other targets give the same loss", remedy="check the loss")
        if known and known.best > known.constant + STILL * abs(known.chance):
            message = _no_better(known.best, known.constant, "for the same one everywhere")
            return self.fails(message, remedy=COMPARED)
        goal = partial(self._goal, known)
        attempt = memorise(setup, batch, goal, self.steps, self.seconds)
        if attempt.reached and not attempt.steps:
            raise Inapplicable("the loss of the samples is low before training")
        return self._judge(attempt, known, batch)

    def _goal(self, known: Levels | None, start: float) -> float:
        if known is None:
            return start - self.clear * abs(start)
        first, constant = start - known.best, known.constant - known.best
        if constant < SAME * (known.chance - known.best):  # the targets are nearly equal
            return known.best + self.fraction * first
        return known.best + min(self.fraction * constant, (1 - self.clear) * first)

    def _judge(self, attempt: Attempt, known: Levels | None, batch: Batch) -> Result:
        start, lowest = attempt.start, attempt.lowest
        fall, size = start - lowest, start - known.best if known else abs(start)
        course = f"the loss of {batch.size} samples went from {start:.3g} to {lowest:.3g}"
        course += f" in {attempt.steps} steps"
        numbers: dict[str, Any] = {"start": start, "lowest": lowest, "steps": attempt.steps}
        if attempt.reached:
            return self.holds(course, **numbers)
        if fall <= STILL * size and not (attempt.timed_out and attempt.steps < HASTY):
            return self.fails(f"{course}: it does not change", **numbers)
        if attempt.timed_out and fall > self.clear * size:
            return self.holds(f"{course}, when time was up", **numbers)
        count = _targets_to_memorise(batch, MORE * self.samples, self.many + 1)
        if attempt.timed_out or known is None or count > self.many:
            raise Inapplicable("training is too slow to judge")
        limit = known.best + CONSTANT * (known.constant - known.best)
        if lowest < limit and (count > self.few or attempt.falling):
            raise Inapplicable("training is too slow to judge")
        limit = self._goal(known, start) if count <= self.few else limit
        note = ": equal inputs have different targets" if _has_equal_inputs(batch) else ""
        return self.fails(f"{course}, not to {limit:.3g}{note}", **numbers)


def _targets_to_memorise(batch: Batch, samples: int, many: int) -> int:
    """Return the number of targets, and at least `many` if few samples could not be taken out."""
    count = 0 if batch.targets is None else batch.targets.numel()
    return max(count, many) if batch.size > samples else count


def _has_equal_inputs(batch: Batch) -> bool:
    rows = batch.main.movedim(batch.sample_dim, 0)
    if batch.joined or batch.listed:
        return False
    return len(torch.unique(rows.reshape(len(rows), -1), dim=0)) < batch.size


def _no_better(best: float, other: float, which: str) -> str:
    return f"the loss is {best:.3g} for perfect predictions, but only {other:.3g} {which}"


def _untrainable(setup: ModelSetup) -> str:
    """Return why no training is possible, "" if it is; raise `Inapplicable` if unclear."""
    first = setup.first_pass
    if not first.has_loss:
        raise Inapplicable("no targets were given")
    if not isfinite(first.loss.item()):
        raise Inapplicable("the loss is not finite")
    parameters = list(setup.model.parameters())
    if not parameters:
        raise Inapplicable("the model has no parameters")
    if not any(each.requires_grad for each in parameters):
        return "no parameter is trainable: all have requires_grad=False"
    if all(each is None for each in first.gradients.values()):
        raise Inapplicable("no gradient, see gradient_reaches_every_parameter")
    if setup.batch.targets is not None and setup.once(is_broadcast):
        raise Inapplicable("outputs and targets are broadcast, see output_fits_the_targets")
    if any(each.dtype == torch.float16 for each in parameters):
        raise Inapplicable("weights in float16 cannot be trained directly")
    return ""


def _ignores_targets(setup: ModelSetup, batch: Batch, output: Tensor) -> bool:
    """Return whether the user's loss is the same for all targets. Only the shape matters."""
    targets = batch.targets
    if not setup.has_loss or targets is None or targets.equal(shifted := targets.roll(1, 0)):
        return False
    if setup.given_targets.flatten().tolist() == list(range(setup.given_batch.size)):
        return False  # targets that only number the samples
    given_twice = any(targets.equal(each) for each in batch.inputs)
    if given_twice and output.shape != targets.shape:
        return False  # the output is the likelihood of the inputs
    pairs = targets.repeat_interleave(2, 0)[: len(targets)]  # a loss may compare equal ones
    others = [shifted, 1 - targets if targets.is_floating_point() else pairs]
    # The model's own output may be the same for all samples.
    return ignores_targets(setup, batch, torch.rand_like(output), others)


@dataclass
class Attempt:
    """How the loss developed."""

    start: float = inf
    lowest: float = inf
    steps: int = 0  # at all learning rates
    reached: bool = False  # the goal
    timed_out: bool = False
    falling: bool = False  # whether the lowest loss was still falling in the last steps


def memorise(
    setup: ModelSetup, batch: Batch, goal: Callable[[float], float], steps: int, seconds: float
) -> Attempt:
    """Train a copy on a batch until the loss reaches its goal, a function of the first loss."""
    _load_optimizer()
    attempt, end, loss_of = Attempt(), perf_counter() + seconds, _scaled_loss(setup, batch)
    for rate in RATES:
        with setup.model_copy(training=True) as model:
            _disable_dropout(model)
            trainable = [each for each in model.parameters() if each.requires_grad]
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


def _samples_to_memorise(setup: ModelSetup, count: int) -> Batch:
    """Return a few samples, or all if the loss needs all, as one with fixed lengths does."""
    few = varied_samples(setup.batch, count)
    try:
        with setup.model_copy(training=True) as model, torch.no_grad():
            setup.loss_of(setup.run(model, few), few)
    except Inapplicable:
        raise
    except Exception:
        return setup.batch
    return few


def _is_falling(losses: list[float]) -> bool:
    """Return whether the last quarter of the steps made a clear part of the fall.

    >>> _is_falling([4.0, 3.0, 2.0, 1.0]), _is_falling([4.0, 1.0, 1.0, 1.0])
    (True, False)
    """
    before = min(losses[: -(len(losses) // 4)] or losses)
    return before - losses[-1] > CLEAR * (losses[0] - losses[-1])


def _load_optimizer() -> None:
    """Take a step that takes no time from others: the first one loads torch's compiler."""
    torch.optim.Adam([nn.Parameter(torch.zeros(1))]).step()


def _disable_dropout(model: nn.Module) -> None:
    """Disable dropout and stochastic depth, as layers and as settings of layers.

    >>> layer = nn.LSTM(2, 2, num_layers=2, dropout=0.5)
    >>> _disable_dropout(layer)
    >>> layer.dropout
    0.0
    """
    for layer in model.modules():
        if isinstance(layer, _DropoutNd) or _skips_paths(layer):
            layer.eval()
        if isinstance(vars(layer).get("dropout"), float):
            layer.dropout = 0.0  # type: ignore[assignment]


def _skips_paths(layer: nn.Module) -> bool:
    """Return whether a layer has only a probability with which it drops a path."""
    name = type(layer).__name__.lower()
    if not ("drop" in name or "stochasticdepth" in name):
        return False
    if [*layer.children(), *layer.parameters(), *layer.buffers()]:
        return False
    rates = (vars(layer).get(each) for each in ("drop_prob", "p", "prob", "drop_rate"))
    return any(isinstance(each, float) and 0 < each <= 1 for each in rates)


def _scaled_loss(setup: ModelSetup, batch: Batch) -> LossOf:
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
