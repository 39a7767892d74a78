"""How good a model is on validation data: its loss, and its accuracy if the task has one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay import tasks
from sickbay.isolated_random import evaluating
from sickbay.probe.loss_modules import loss_name
from sickbay.problems.shared.yardsticks import metric_in
from sickbay.recipe import Loss
from sickbay.remedies import Fitted
from sickbay.repairs.batch_sources import Rows
from sickbay.repairs.data import Data
from sickbay.repairs.metrics import (
    NO_CLASS,
    SCORE,
    STANDARD,
    Metric,
    class_scores,
    unavailable,
    value_of,
)

IGNORED = -100  # the label that torch's losses ignore


def key(scores: Mapping[str, float]) -> float:
    """Return the number to compare models by. Higher is better, NaN is the worst.

    >>> key({"val_loss": 0.7, "val_accuracy": 0.9}), key({"val_loss": 0.7}), key({})
    (0.9, -0.7, -inf)
    """
    name, sign = metric_in(scores)
    return -inf if isnan(scores.get(name, nan)) else sign * scores[name]


def doubt(scores: Mapping[str, float], samples: int | None) -> float:
    """Return the standard error of an accuracy, 0 for other scores.

    >>> doubt({"val_accuracy": 0.9}, 100)
    0.03
    """
    right = 1.0 if SCORE in scores else scores.get("val_accuracy", 1.0)
    return round(sqrt(right * (1 - right) / samples), 12) if samples else 0.0


def evaluate(
    model: nn.Module, loss: Loss, data: Data, metric: Metric | None = None
) -> dict[str, float]:
    """Return the metrics of a model on the validation data. The model stays as it is.

    `val_accuracy` is the share of right answers. A regression has `val_score` instead: the share
    of the targets' variance that is explained, at least -1. A `metric` of the user's choice that is
    neither of them is `val_metric`.
    """
    total, count, tally, pairs = 0.0, 0, None, list[tuple[Any, Tensor]]()
    with evaluating(model):
        for inputs, targets in data.validation_batches():
            outputs = model(*inputs)
            total += float(loss(outputs, targets)) * len(targets)
            count += len(targets)
            if callable(metric):
                pairs.append((outputs, targets))
            if isinstance(outputs, Tensor):
                if tally is None:
                    known = data.targets() if isinstance(data.training, Rows) else targets
                    tally = _Tally(task_of(inputs, outputs, known, loss), loss, data.padding)
                fitted = loss.fit(outputs, targets) if isinstance(loss, Fitted) else targets
                tally.add(outputs, fitted)
        scores = {"val_loss": total / count, **(tally.scores() if tally else {})}
        if callable(metric):
            scores[SCORE] = value_of(metric, pairs)
        elif metric is not None:
            scores |= _chosen(metric, scores, tally)
    return scores


def task_of(inputs: tuple[Tensor, ...], outputs: Tensor, targets: Tensor, loss: Loss) -> str:
    """Return the task: the one that a loss of ours was made for, or inferred from the data."""
    if isinstance(loss, Fitted):
        several = outputs.ndim > 1 and outputs.shape[-1] > 1
        answers = "multilabel" if several else "binary"
        return {"classes": "multiclass", "values": "regression", "answers": answers}[loss.meaning]
    one_row = targets.ndim == 2 and targets.shape[1] * len(inputs[0]) == len(outputs)
    if outputs.ndim == 2 and one_row:
        targets = targets.flatten()  # the tokens of all sequences are in one dimension
    values: Any = (targets.float() if targets.is_floating_point() else targets).cpu().numpy()
    tokens = any(each.ndim > 1 and not each.is_floating_point() for each in inputs)
    return tasks.infer(tuple(outputs.shape), values, loss=loss_name(loss), tokens=tokens)


@dataclass
class _Tally:
    """Collects answers batch by batch. Keeps outputs that need all batches to be judged."""

    task: str
    loss: Loss
    padding: int | None = None  # a label that is not scored
    answers: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # given and right ones
    pairs: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    unknown: bool = False  # whether some labels have no output, as the numbers of samples

    def add(self, outputs: Tensor, targets: Tensor) -> None:
        rows = None
        if self.task in ("binary", "multiclass", "next_token"):
            last = self.task == "next_token" and loss_name(self.loss) not in tasks.OF_CLASSES
            last = last or getattr(self.loss, "last", False) is True
            rows = by_class(outputs, targets, last=last)
        if rows is not None:
            classes, labels = rows
            labels = labels > 0 if self.task == "binary" else labels
            top = classes.max(1)
            kept = labels != getattr(self.loss, "ignore_index", IGNORED)
            kept &= labels != (IGNORED if self.padding is None else self.padding)
            self.unknown |= bool((kept & (labels >= classes.shape[1])).any())
            given = top.indices.where(top.values.isfinite(), NO_CLASS)
            if self.task == "binary":
                given = (given == 1).where(given != NO_CLASS, ~labels)
            self.answers.append((given[kept], labels[kept]))
        elif outputs.numel() == targets.numel() and len(outputs) == len(targets):
            flat = len(targets), -1
            self.pairs.append((outputs.reshape(flat).double(), targets.reshape(flat).double()))

    def scores(self) -> dict[str, float]:
        """Return the accuracy or the score, if there is one."""
        if self.unknown:
            return {}
        if not self.answers and self.pairs:
            outputs, targets = (torch.cat(each) for each in zip(*self.pairs, strict=True))
            if self.task in ("binary", "multilabel"):
                self.answers.append(answers(outputs, targets))
            elif self.task == "regression":
                return {"val_score": explained_variance(as_values(outputs, self.loss), targets)}
        right = [(given == known).flatten() for given, known in self.answers]
        share = float(torch.cat(right).double().mean()) if right else nan
        return {} if isnan(share) else {"val_accuracy": share}


def _chosen(metric: str, scores: Mapping[str, float], tally: _Tally | None) -> dict[str, float]:
    """Return a named metric, unless it is the score anyway."""
    values = {name: scores[kept] for name, kept in STANDARD.items() if kept in scores}
    values["loss"] = -scores["val_loss"]
    if tally is not None and tally.answers:
        values |= class_scores(*(torch.cat(each) for each in zip(*tally.answers, strict=True)))
    if metric not in values:
        raise unavailable(metric, [*values])
    return {} if metric in STANDARD else {SCORE: values[metric]}


def by_class(outputs: Tensor, targets: Tensor, last: bool = False) -> tuple[Tensor, Tensor] | None:
    """Return a row of outputs for every label, and the labels. None if they do not match.

    Classes are in dimension 1, as in torch's losses, or in the last one if that fails or if `last`.

    >>> by_class(torch.rand(2, 5, 7), torch.zeros(2, 7))[0].shape
    torch.Size([14, 5])
    """
    if outputs.ndim < 2:
        return None
    if outputs.shape == targets.shape:
        return _rows(outputs.movedim(1, -1), targets.argmax(1))
    second = outputs.movedim(1, -1)
    matches_last = targets.numel() * outputs.shape[-1] == outputs.numel()
    if second.shape[:-1] == targets.shape and not (last and matches_last):
        return _rows(second, targets)
    return _rows(outputs, targets) if matches_last else None


def comparable(outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss may compare each output with a target. If not, it picks some of them.

    >>> comparable(torch.rand(8, 4), torch.zeros(8)), comparable(torch.rand(8, 4), torch.rand(8, 2))
    (True, False)
    """
    if len(outputs) != len(targets):
        return False
    if by_class(outputs, targets) is not None:
        return True
    try:
        np.broadcast_shapes(outputs.shape, targets.shape)
    except ValueError:
        return False
    return True


def _rows(outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor] | None:
    classes = outputs.shape[-1]
    return (outputs.reshape(-1, classes), labels.reshape(-1)) if classes > 1 else None


def answers(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers yes or no, and the right ones. Outputs that are not finite are wrong.

    >>> answers(torch.tensor([0.6, 0.4]), torch.tensor([1.0, 0.0]))  # probabilities
    (tensor([ True, False]), tensor([ True, False]))
    >>> answers(torch.tensor([0.4, -0.2]), torch.tensor([1.0, 0.0]))  # logits
    (tensor([ True, False]), tensor([ True, False]))
    """
    finite = outputs.isfinite()
    signed = bool((targets < 0).any())  # labels are -1 and 1
    logits = signed or bool(((outputs < 0) | (outputs > 1))[finite].any())
    right = targets > (0.0 if signed else 0.5)
    given = outputs > (0.0 if logits else 0.5)
    return given.where(finite, ~right), right


def as_values(outputs: Tensor, loss: Loss) -> Tensor:
    """Return outputs on the scale of the targets, where a loss takes logits or logarithms.

    >>> as_values(torch.zeros(2), nn.BCEWithLogitsLoss()), as_values(torch.zeros(2), nn.MSELoss())
    (tensor([0.5000, 0.5000]), tensor([0., 0.]))
    """
    if loss_name(loss) == "bce_logits":
        return outputs.sigmoid()
    rates = isinstance(loss, nn.PoissonNLLLoss) and loss.log_input
    return outputs.exp() if rates else outputs


def explained_variance(outputs: Tensor, targets: Tensor) -> float:
    """Return the share of the targets' variance that is explained, at least -1.

    >>> explained_variance(torch.tensor([[1.0], [3.0]]), torch.tensor([[1.0], [5.0]]))
    0.5
    """
    known = targets.isfinite().all(1)
    outputs, targets = outputs[known], targets[known]
    error = float((outputs - targets).square().mean())
    variance = float((targets - targets.mean(0)).square().mean())
    share = 1 - error / variance if variance else float(error == 0) * 2 - 1
    return -1.0 if isnan(share) else max(share, -1.0)
