"""Right answers as plain rows of numbers, and rows of numbers as the outputs of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from sickbay.probe.loss_modules import loss_name
from sickbay.recipe import Loss
from sickbay.remedies import Fitted
from sickbay.remedies.fit_loss_to_task import MEANINGS
from sickbay.repairs.scoring import IGNORED, by_class, task_of
from sickbay.repairs.yardsticks.simple_models import Kind

LOGITS = ("cross_entropy", "nll", "kl_div", "multi_margin", "bce_logits", "soft_margin")
SHARES = ("mse", "l1", "smooth_l1", "huber", "bce")
SMALLEST = 1e-4  # share whose logarithm is taken

Inputs: TypeAlias = tuple[Tensor, ...]


@dataclass(frozen=True)
class Answers:
    """What the outputs of a model mean: their kind, their shape and their scale.

    Attributes:
        kind: Classes, answers yes or no, or values.
        shape: The shape of the outputs of one sample.
        rows: Rows of outputs for each sample; more than 1 if a model joins all positions.
        width: The number of classes, or of outputs.
        logits: Whether shares are given as logarithms, or as log odds.
        shares: Whether values are shares from 0 to 1, and outputs may be nothing else.
        dense: Whether every position of a sample has a class of its own.
        last: Whether classes are in the last dimension of the outputs.
    """

    kind: Kind
    shape: tuple[int, ...]
    rows: int
    width: int
    logits: bool
    shares: bool
    dense: bool
    last: bool

    @classmethod
    def of(cls, inputs: Inputs, outputs: Tensor, targets: Tensor, loss: Loss) -> Answers | None:
        """Return what outputs for all these samples would mean, None if that is not known.

        `outputs` are those for the first two samples.
        """
        few = len(targets[:2])
        rows, shape = len(outputs) // few, tuple(outputs.shape[1:])
        like = torch.empty(len(targets) * rows, *shape, dtype=outputs.dtype, device="meta")
        kind = MEANINGS.get(task_of(inputs, like, targets, loss))
        if kind is None or not outputs.is_floating_point() or len(outputs) % few:
            return None
        last = isinstance(loss, Fitted) and loss.last
        dense, classes = False, by_class(like, fitted(loss, like, targets), last=last)
        if classes is not None and (kind == "classes" or like.shape != targets.shape):
            kind, dense = "classes", len(classes[1]) != len(targets)
        elif kind == "classes" or like.numel() != targets.numel():
            return None
        last = like.ndim > 2 and classes is not None and classes[0].shape[1] == shape[-1]
        width = classes[0].shape[1] if classes is not None and kind == "classes" else 0
        width = width or targets[0].numel()
        logits, shares = _is_logits(outputs, targets, loss), False
        if kind == "values":
            logits, shares = name_of(loss) == "bce_logits", name_of(loss) == "bce"
        return cls(kind, shape, rows, width, logits, shares, dense, last)

    def known(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return right answers, and which samples or positions have one.

        Classes are numbers, others are rows. `outputs` has the shape of the outputs.
        """
        if self.kind == "classes":
            found = by_class(outputs, targets, last=self.last)
            labels = found[1].long() if found else targets.flatten().long()
            if self.width == 2 and bool((labels < 0).any()) and not bool((labels == IGNORED).any()):
                labels = (labels > 0).long()
            good = (labels >= 0) & (labels < self.width)
            return labels[good], good
        rows = targets.reshape(len(targets), -1).double()
        good = rows.isfinite().all(1)
        return ((rows[good] > 0.5) if self.kind == "answers" else rows[good]).float(), good

    def mean(self, right: Tensor) -> Tensor:
        """Return the best constant answer: the mean of the right ones."""
        if self.kind != "classes":
            return right.mean(0)
        return (right.bincount(minlength=self.width).double() / len(right)).float()

    def hot(self, right: Tensor) -> Tensor:
        """Return right answers as rows, one output for each class."""
        if self.kind != "classes":
            return right
        return nn.functional.one_hot(right, self.width).float()

    def outputs(self, rows: Tensor, samples: int) -> Tensor:
        """Return rows of answers, one for each sample or position, as outputs of a model."""
        if self.shares:
            rows = rows.clamp(0, 1)
        elif self.logits:
            some = rows.clamp(SMALLEST, 1 - SMALLEST)
            rows = some.log() if self.kind == "classes" else some.logit()
        if not self.dense:
            return rows.reshape(samples * self.rows, *self.shape)
        if self.rows > 1 or self.last:
            return rows.reshape(samples * self.rows, *self.shape)
        return rows.reshape(samples, *self.shape[1:], self.width).movedim(-1, 1)

    def constant(self, row: Tensor, samples: int) -> Tensor:
        """Return the same answer for all samples and positions, as outputs of a model."""
        total = samples * self.rows * max(1, torch.Size(self.shape).numel())
        return self.outputs(row.expand(total // len(row), -1), samples)


class Answering(nn.Module):
    """A model that answers with a function of its inputs."""

    def __init__(self, answer: Callable[..., Tensor]) -> None:
        super().__init__()
        self._answer = answer

    def forward(self, *inputs: Tensor) -> Tensor:
        return self._answer(*inputs).to(inputs[0].device)


def fitted(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the targets as the loss takes them."""
    return loss.fit(outputs, targets) if isinstance(loss, Fitted) else targets


def name_of(loss: Loss) -> str:
    """Return the name of torch's loss, "" for any other."""
    return loss_name(loss.loss if isinstance(loss, Fitted) else loss)


def _is_logits(outputs: Tensor, targets: Tensor, loss: Loss) -> bool:
    name = name_of(loss)
    if name in LOGITS or bool((targets == -1).any()):
        return True
    return name not in SHARES and not bool(((outputs >= 0) & (outputs <= 1)).all())
