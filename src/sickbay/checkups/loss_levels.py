"""What a loss makes of good and bad answers: it is asked, so that its own scale is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isfinite

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.class_outputs import class_dimension, one_hot

DISTANCES = ("mse", "l1", "smooth_l1", "huber")
DOUBTS = (1e-6, 0.01, 0.05, 0.1, 0.2, 0.3)  # labels may be smoothed
SURE = 1e-6


@dataclass(frozen=True)
class Levels:
    """The loss of some answers.

    Attributes:
        best: Of perfect ones.
        blind: Of the best that is the same for every sample.
        chance: Of one that knows nothing; of numbers, one that is off by their size.
    """

    best: float
    blind: float
    chance: float


def levels(case: Case, batch: Batch, output: Tensor) -> Levels:
    """Return the levels of the loss on a batch, or raise `Inapplicable` if it is not a known one.

    `output` is what the model puts out: only its shape matters.
    """
    origin, targets = case.seen.origin, batch.targets
    if targets is None or not case.seen.compared:
        raise Inapplicable("no targets were given")
    if (not case.has_loss and not origin.bare) or takes_more(case):
        raise Inapplicable("the loss is more than can be asked about")
    match origin.loss:
        case "cross_entropy":
            perfect, blind, chance = _of_classes(output, targets)
        case "bce" | "bce_logits":
            perfect, blind, chance = _of_answers(output, targets, origin.loss)
        case name if name in DISTANCES:
            perfect, blind, chance = _of_numbers(output, targets)
        case _:
            raise Inapplicable("it is not known what chance gives with this loss")
    ask = _asking(case, batch)
    return Levels(min(map(ask, perfect)), ask(blind), ask(chance))


Answers = tuple[Iterator[Tensor], Tensor, Tensor]


def _of_classes(output: Tensor, targets: Tensor) -> Answers:
    """Return answers as logarithms of probabilities: they fit with and without a log-softmax."""
    dimension = class_dimension(output, targets)
    if dimension is None:
        raise Inapplicable(f"outputs of {tuple(output.shape)} have no classes")
    right = one_hot(output, targets, dimension)
    width = output.shape[dimension]
    others = [each for each in range(output.ndim) if each != dimension]
    usual = right.mean(others, keepdim=True).clamp(min=SURE).expand_as(right)
    perfect = ((right * (1 - doubt) + doubt / width).log() for doubt in DOUBTS)
    return perfect, usual.log(), torch.full_like(right, 1 / width).log()


def _of_answers(output: Tensor, targets: Tensor, loss: str) -> Answers:
    right = _shaped(targets, output).clamp(SURE, 1 - SURE)
    usual = right.mean(0, keepdim=True).expand_as(right)
    even = torch.full_like(right, 0.5)
    if loss == "bce":
        return iter([right]), usual, even
    return iter([right.logit()]), usual.logit(), even.logit()


def _of_numbers(output: Tensor, targets: Tensor) -> Answers:
    right = _shaped(targets, output)
    size = max(1.0, right.square().mean().sqrt().item())
    return iter([right]), right.mean(0, keepdim=True).expand_as(right), right + size


def _shaped(targets: Tensor, output: Tensor) -> Tensor:
    if targets.numel() != output.numel():
        raise Inapplicable(f"outputs {tuple(output.shape)} and targets {tuple(targets.shape)}")
    return targets.to(output).reshape(output.shape)


def _asking(case: Case, batch: Batch) -> Callable[[Tensor], float]:
    def ask(answers: Tensor) -> float:
        try:
            loss = case.loss_of(answers.contiguous(), batch)
        except Exception:
            raise Inapplicable("the loss cannot be asked about answers") from None
        if loss is None or loss.numel() != 1 or not isfinite(value := loss.item()):
            raise Inapplicable("the loss cannot be asked about answers")
        return value

    return ask


def takes_more(case: Case) -> bool:
    """Tell whether a user's loss is made of more than the main output."""
    try:
        wanted = case.seen.loss
    except Inapplicable:
        return False
    if not case.has_loss:
        return False
    try:
        again = case.loss_of(case.seen.output, case.batch)
    except Exception:
        return True
    return again is None or not torch.allclose(again, wanted, equal_nan=True)


def ignores_targets(case: Case, batch: Batch, output: Tensor) -> bool:
    """Tell whether a user's loss is the same whatever the targets are; only a shape is needed."""
    targets = batch.targets
    if not case.has_loss or targets is None or targets.equal(turned := targets.roll(1, 0)):
        return False
    if case.given_batch.targets.flatten().tolist() == list(range(case.given_batch.size)):  # type: ignore[union-attr]
        return False  # samples that are only numbered
    others = [turned, 1 - targets] if targets.is_floating_point() else [turned]
    try:
        output = torch.rand_like(output)  # else it may be the same for all samples
        losses = [case.loss_of(output, replace(batch, targets=each)) for each in (targets, *others)]
    except Exception:
        return False
    return all(each is not None and each.equal(losses[0]) for each in losses)  # type: ignore[arg-type]


def needs_targets(case: Case) -> bool:
    """Tell whether the loss is another one with other targets; they may only fill a place."""
    batch, targets = case.batch, case.targets
    others = (targets == 0).to(targets)
    try:
        with case.patient() as model, torch.no_grad():
            raw = case.run(model, batch)
            losses = [case.loss_of(raw, replace(batch, targets=each)) for each in (targets, others)]
    except Exception:
        return True
    return losses[0] is None or losses[1] is None or not losses[0].equal(losses[1])


def takes(case: Case, output: Tensor, targets: Tensor | None = None) -> bool:
    """Tell whether the loss can be computed of these outputs, and of other targets if given."""
    batch = case.batch if targets is None else replace(case.batch, targets=targets)
    try:
        case.loss_of(output, batch)
    except Exception:
        return False
    return True


def wants_probabilities(case: Case, output: Tensor) -> bool:
    """Tell whether the loss refuses these outputs because they are not from 0 to 1."""
    try:
        case.loss_of(output, case.batch)
    except Exception as error:
        return "between 0 and 1" in str(error)
    return False


def answered(case: Case) -> Tensor:
    """Return the output on the batch, also where the loss does not take it.

    Where the model does not run at all, another test says so.
    """
    try:
        return case.seen.output
    except Inapplicable:
        pass
    try:
        return case.evaluated(case.batch)
    except Exception:
        raise Inapplicable("the model does not run on the batch") from None
