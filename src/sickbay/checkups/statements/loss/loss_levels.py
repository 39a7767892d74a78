"""The loss of perfect, constant and ignorant predictions, found by calling the loss."""

from collections.abc import Iterator
from contextlib import suppress
from math import isfinite

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, dataclass
from sickbay.checkups.batch import Batch
from sickbay.checkups.class_outputs import class_dimension, one_hot
from sickbay.checkups.loss_probes import has_weights, needs_more_than_output
from sickbay.tasks import DISTANCES

SMOOTHINGS = (1e-6, 0.01, 0.05, 0.1, 0.2, 0.3)  # of labels
CERTAIN = 1e-6


@dataclass(frozen=True)
class Levels:
    """The loss of some predictions."""

    best: float  # of perfect ones
    constant: float  # of the best one that is the same for every sample
    chance: float  # of one that knows nothing; for numbers, one that is wrong by their size


def levels(setup: ModelSetup, batch: Batch, output: Tensor) -> Levels:
    """Return the levels of the loss on a batch, or raise `Inapplicable` for an unknown loss.

    Only the shape of `output`, the model's own, matters.
    """
    origin, targets = setup.first_pass.origin, batch.targets
    if targets is None or not setup.first_pass.has_loss:
        raise Inapplicable("no targets were given")
    if (not setup.has_loss and not origin.bare) or needs_more_than_output(setup):
        raise Inapplicable("the loss does not depend on predictions alone")
    if has_weights(setup, batch, output):
        raise Inapplicable("the loss has weights of its own, so the outputs are no predictions")
    match origin.loss:
        case "cross_entropy":
            perfect, constant, chance = _classes(output, targets)
        case "bce" | "bce_logits":
            perfect, constant, chance = _yes_or_no(output, targets, origin.loss)
        case name if name in DISTANCES:
            perfect, constant, chance = _numbers(output, targets)
        case _:
            raise Inapplicable("the chance level of this loss is unknown")

    def loss_of(prediction: Tensor) -> float:
        with suppress(Exception):
            loss = setup.loss_of(prediction.contiguous(), batch)
            if loss is not None and isfinite(value := loss.item()):
                return value
        raise Inapplicable("the loss rejects constructed predictions")

    return Levels(min(map(loss_of, perfect)), loss_of(constant), loss_of(chance))


Predictions = tuple[Iterator[Tensor], Tensor, Tensor]  # perfect ones, constant, chance


def _classes(output: Tensor, targets: Tensor) -> Predictions:
    """Return predictions as log-probabilities, which a further log-softmax does not change."""
    dimension = class_dimension(output, targets)
    if dimension is None:
        raise Inapplicable(f"outputs of shape {tuple(output.shape)} have no classes")
    right = one_hot(output, targets, dimension)
    classes = output.shape[dimension]
    others = [each for each in range(output.ndim) if each != dimension]
    usual = right.mean(others, keepdim=True).clamp(min=CERTAIN).expand_as(right)
    perfect = ((right * (1 - share) + share / classes).log() for share in SMOOTHINGS)
    return perfect, usual.log(), torch.full_like(right, 1 / classes).log()


def _yes_or_no(output: Tensor, targets: Tensor, loss: str) -> Predictions:
    right = _reshaped(targets, output).clamp(CERTAIN, 1 - CERTAIN)
    usual = right.mean(0, keepdim=True).expand_as(right)
    even = torch.full_like(right, 0.5)
    if loss == "bce":
        return iter([right]), usual, even
    return iter([right.logit()]), usual.logit(), even.logit()


def _numbers(output: Tensor, targets: Tensor) -> Predictions:
    right = _reshaped(targets, output)
    size = max(1.0, right.square().mean().sqrt().item())
    return iter([right]), right.mean(0, keepdim=True).expand_as(right), right + size


def _reshaped(targets: Tensor, output: Tensor) -> Tensor:
    if targets.numel() != output.numel():
        shapes = f"outputs {tuple(output.shape)}, targets {tuple(targets.shape)}"
        raise Inapplicable(f"shapes do not match: {shapes}")
    return targets.to(output).reshape(output.shape)
