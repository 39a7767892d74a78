"""Made-up outputs: right, wrong and ignorant answers to real targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Generator, Tensor

Kind = Literal["classes", "answers", "values"]
MOST_CLASSES = 4096


@dataclass(frozen=True)
class Answers:
    """Answers in the shape of the outputs.

    `right` holds 1 for what is true and 0 for the rest; for values, the targets themselves.
    """

    kind: Kind
    right: Tensor
    wrong: Tensor
    other_targets: Tensor  # targets with another meaning for every sample
    dimension: int = -1  # of classes

    @cached_property
    def chance(self) -> float:
        """The share of each class for who knows nothing."""
        return 1 / self.right.shape[self.dimension] if self.kind == "classes" else 0.5

    def shares(self, hot: Tensor, doubt: float) -> Tensor:
        """Return answers as probabilities, with some doubt."""
        return hot * (1 - doubt) + doubt * self.chance

    def random(self, seed: int, scale: float = 1.0) -> Tensor:
        """Return outputs that have nothing to do with the targets."""
        own = Generator().manual_seed(seed)
        drawn = torch.randn(self.right.shape, generator=own).to(self.right)
        if self.kind == "values":
            known = self.right[self.right.isfinite()]
            return known.mean() + drawn * known.std() * scale
        return drawn * scale

    def through(self, output: str, outputs: Tensor) -> Tensor:
        """Return outputs as the last activation of a model would make them."""
        if output in ("softmax", "log_softmax"):
            dimension = self.dimension if outputs.ndim > 1 else -1
            found = outputs.log_softmax(dimension)
            return found.exp() if output == "softmax" else found
        if output in ("sigmoid", "log_sigmoid"):
            found = outputs.sigmoid()
            return found if output == "sigmoid" else found.log()
        return outputs.tanh() if output == "tanh" else outputs


def answers_to(outputs: Tensor, targets: Tensor) -> Answers | None:
    """Return answers to the targets in the shape of the outputs, None if they do not match.

    >>> answers_to(torch.rand(3, 2), torch.tensor([1, 0, 1])).right.tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    >>> answers_to(torch.rand(2, 1), torch.tensor([0.3, 2.0])).kind
    'values'
    """
    numbers = targets.double()
    if not targets.numel() or not bool(numbers.isfinite().all()) or outputs.ndim < 1:
        return None
    if targets.numel() != outputs.numel():
        return _of_class_numbers(outputs, targets)
    fitted = numbers.reshape(outputs.shape).to(outputs)
    dimension = _class_dimension(outputs, fitted)
    if dimension is not None:
        wrong, other = fitted.roll(1, dimension), targets.roll(1, dimension)
        return Answers("classes", fitted, wrong, other, dimension)
    values = set(torch.unique(numbers).tolist()) if targets.numel() < 1e6 else set()
    if values and (values <= {0.0, 1.0} or values == {-1.0, 1.0}):
        hot = (fitted > 0).to(outputs)
        flipped = min(values | {0.0}) + 1 - numbers
        return Answers("answers", hot, 1 - hot, flipped.to(targets))
    if targets.numel() < 2 or not bool((fitted != fitted.flatten()[0]).any()):
        return None
    order = torch.randperm(len(fitted), generator=Generator().manual_seed(0)).to(fitted.device)
    return Answers("values", fitted, fitted[order], targets.flip(0) * 2 + 1)


def _class_dimension(outputs: Tensor, hot: Tensor) -> int | None:
    """Return the dimension over which targets in the shape of the outputs sum to 1."""
    if outputs.ndim < 2 or bool((hot < 0).any()):
        return None
    for dimension in dict.fromkeys((1, outputs.ndim - 1)):
        sums = hot.sum(dimension)
        if hot.shape[dimension] > 1 and torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            return dimension
    return None


def _of_class_numbers(outputs: Tensor, targets: Tensor) -> Answers | None:
    """Return answers to class numbers, one for each sample or position."""
    for dimension in dict.fromkeys((1, outputs.ndim - 1)) if outputs.ndim > 1 else ():
        classes = outputs.shape[dimension]
        rest = outputs.shape[:dimension] + outputs.shape[dimension + 1 :]
        if targets.numel() * classes != outputs.numel() or not 1 < classes <= MOST_CLASSES:
            continue
        if targets.shape != rest and targets.shape != (*rest, 1):
            continue
        numbers = targets.reshape(rest).long()
        known = (numbers >= 0) & (numbers < classes)  # others are ignored
        if not bool(known.any()) or bool((targets.reshape(rest) != numbers).any()):
            return None
        other = torch.where(known, (numbers + 1) % classes, numbers)
        right, wrong = (
            torch.zeros_like(outputs).scatter_(
                dimension, each.clamp(0, classes - 1).unsqueeze(dimension), 1.0
            )
            for each in (numbers, other)
        )
        return Answers("classes", right, wrong, other.reshape(targets.shape).to(targets), dimension)
    return None
