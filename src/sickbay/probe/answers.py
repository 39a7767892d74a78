"""How good a model's answers are on a batch, beside the best constant answer to the targets so far.

The score knows nothing of the loss, so it also tells when the loss measures something else.
"""

from collections import defaultdict
from math import nan

import torch
from torch import Tensor

from sickbay import tasks
from sickbay.probe import class_weights
from sickbay.probe.constant_answer import ClassCounts, ColumnMeans
from sickbay.probe.sure_errors import sure_errors

FEW, MOST = 4, 1024  # values needed, and rows of outputs that are looked at


class Answers:
    """Scores the outputs of each batch: `score`, `constant_score`, `pull` and more.

    `score` is the share of right classes, or the share of the targets' variance that is explained,
    and `constant_score` what the best constant answer gets; with several outputs, the best one for
    each. `constant_entropy` is the cross-entropy of the frequencies of the classes. `purity` is the
    share of the most frequent class in the batch, and `pull` the cosine between the direction in
    which the loss pulls the outputs and that towards the targets: below 0, the loss pulls them
    away. `weight_slope` is the power of its frequency by which the loss weights a class, or the yes
    to a tag. `tags` is the largest number of tags of a sample. `twins` is the share of samples
    whose two answers are the same. `sure_errors` are explained in their own file.
    """

    def __init__(self) -> None:
        self._counts: dict[str, ClassCounts] = defaultdict(ClassCounts)  # by task
        self._means: dict[str, ColumnMeans] = defaultdict(ColumnMeans)
        self._widths: set[int] = set()

    def scalars(
        self, task: str, outputs: Tensor, targets: Tensor, gradient: Tensor | None, loss: str = ""
    ) -> dict[str, float]:
        """Return the scalars of a batch, as far as they are known."""
        if task == "regression" and loss == "bce_logits":  # shares, as of grey pixels
            outputs = outputs.sigmoid()
        rows = in_rows(task, outputs, targets)
        if rows is None:
            return {}
        given, wanted = rows
        found = self._scored(task, given, wanted)
        if gradient is not None and gradient.shape == outputs.shape:
            # A distance pulls towards the targets themselves, also from beyond 0 and 1.
            distance = loss in tasks.DISTANCES and outputs.numel() == targets.numel()
            found |= self._pulled("regression" if distance else task, outputs, targets, -gradient)
        return {name: value for name, value in found.items() if value == value}

    def _pulled(
        self, task: str, outputs: Tensor, targets: Tensor, pull: Tensor
    ) -> dict[str, float]:
        rows, pulled = in_rows(task, outputs, targets), in_rows(task, pull, targets)
        if rows is None or pulled is None:
            return {}
        return {
            "pull": cosine(pulled[0], _towards(task, *rows)),
            "weight_slope": self._weight_slope(task, *rows, pulled[0]),
        }

    def _weight_slope(self, task: str, given: Tensor, wanted: Tensor, pulled: Tensor) -> float:
        if task == "multilabel":
            ratios = class_weights.of_tags(given, -pulled, wanted)
            return class_weights.slope_of_tags(ratios, self._means[task])
        if task not in ("binary", "multiclass") or (task == "binary") != (given.shape[1] == 1):
            return nan
        weights = class_weights.of_classes(given, -pulled, wanted)
        return class_weights.slope(weights, self._counts[task].counts)

    def _scored(self, task: str, given: Tensor, wanted: Tensor) -> dict[str, float]:
        if task in ("multiclass", "next_token"):
            labels = wanted.argmax(1)
            counts = self._counts[task]
            counts.add(labels)
            right = float((given.argmax(1) == labels).double().mean())
            purity = float(torch.unique(labels, return_counts=True)[1].max()) / len(labels)
            found = {"score": right, "constant_score": counts.share, "purity": purity}
            found["constant_entropy"] = counts.entropy
            return found | (sure_errors(given, wanted) if task == "multiclass" else {})
        means = self._means[task]
        self._widths.add(wanted.shape[1])  # those of sequences may differ: count them as one
        means.add(wanted if len(self._widths) == 1 else wanted.reshape(-1, 1))
        if task == "regression":
            if not means.variance > 0:
                return {}
            error = float((given - wanted).square().mean())
            return {"score": 1 - error / means.variance, "constant_score": 0.0}
        middle = 0.5 if bool(((given >= 0) & (given <= 1)).all()) else 0.0
        right = float(((given > middle) == (wanted > 0.5)).double().mean())
        found = {"score": right, "constant_score": means.share}
        if task == "binary":
            self._counts[task].add(wanted)
            yes = float(wanted.mean())
            found["purity"] = max(yes, 1 - yes)
            return found
        found["tags"] = float(wanted.sum(1).max())
        if wanted.shape[1] == 2 and 0 < float(wanted[:, 0].mean()) < 1:
            found["twins"] = float((wanted[:, 0] == wanted[:, 1]).double().mean())
        return found


def _towards(task: str, given: Tensor, wanted: Tensor) -> Tensor:
    """Return the direction in which outputs should move."""
    if task == "regression":
        return wanted - given
    return 2 * wanted - 1 if task in ("binary", "multilabel") else wanted - 1 / wanted.shape[1]


def in_rows(task: str, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return outputs and targets as two matrices of one shape, classes as one-hot rows.

    >>> in_rows("multiclass", torch.eye(4, 2), torch.tensor([0, 1, 1, 0]))[1].tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """
    if not task or outputs.ndim == 0 or targets.numel() == 0:
        return None
    if task in ("multiclass", "next_token"):
        return _classes(outputs, targets)
    if outputs.numel() != targets.numel():
        return None
    flat = len(outputs), -1
    given, wanted = outputs.reshape(flat)[:MOST].double(), targets.reshape(flat)[:MOST].double()
    known = wanted.isfinite().all(1)
    given, wanted = given[known], wanted[known]
    if task in ("binary", "multilabel"):
        wanted = (wanted > 0).double()
    return (given, wanted) if given.numel() >= FEW else None


def _classes(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor] | None:
    if outputs.ndim < 2:
        return None
    if outputs.shape == targets.shape:  # the last dimension has the classes
        given, wanted = (each.reshape(-1, each.shape[-1])[:MOST] for each in (outputs, targets))
        return given.double(), wanted.double()
    classes, targets = outputs.movedim(1, -1), targets[: len(outputs)]  # may be the first samples
    if classes.shape[:-1] != targets.shape:
        return None
    width = classes.shape[-1]
    given, labels = classes.reshape(-1, width)[:MOST], targets.reshape(-1)[:MOST].long()
    kept = (labels >= 0) & (labels < width)
    if int(kept.sum()) < FEW:
        return None
    return given[kept].double(), torch.nn.functional.one_hot(labels[kept], width).double()


def cosine(first: Tensor, second: Tensor) -> float:
    """Return the cosine between two matrices; 0 if one is 0."""
    size = float(first.norm() * second.norm())
    return float((first * second).sum()) / size if size > 0 else size * 0
