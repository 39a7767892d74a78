"""The training accuracy of an epoch, from the outputs that its steps had anyway."""

from collections.abc import Callable

import torch
from torch import Tensor

from sickbay.probe.loss_modules import loss_name
from sickbay.recipe import Loss
from sickbay.remedies import Fitted
from sickbay.repairs.scoring import IGNORED, by_class, task_of
from sickbay.tasks import OF_CLASSES

Inputs = tuple[Tensor, ...]
# Outputs and targets above these mean yes: if targets are -1 and 1, if outputs are logits, and if
# they are probabilities. Which of them it is shows only when the epoch is over.
BOUNDS = ((0.0, 0.0), (0.0, 0.5), (0.5, 0.5))


class TrainingAccuracy:
    """The share of right answers over all steps of an epoch, as Keras counts them.

    Every sample counts as it was answered at its step. `targets` returns some targets, to tell the
    task by. Nothing waits for a GPU before the epoch is over.

    >>> accuracy = TrainingAccuracy(torch.nn.CrossEntropyLoss(), lambda: torch.tensor([0, 1]))
    >>> accuracy.add((torch.ones(2, 1),), torch.tensor([[2.0, 1.0], [2.0, 1.0]]), torch.arange(2))
    >>> accuracy.end_epoch()
    {'accuracy': 0.5}
    """

    def __init__(self, loss: Loss, targets: Callable[[], Tensor]) -> None:
        self._loss, self._targets = loss, targets
        self._task: str | None = None
        self._start()

    def _start(self) -> None:
        self._right: Tensor | int = 0
        self._signed: Tensor | bool = False
        self._logits: Tensor | bool = False
        self._count: Tensor | int = 0

    def add(self, inputs: Inputs, outputs: Tensor, targets: Tensor) -> None:
        """Count the answers of a step."""
        with torch.no_grad():
            outputs = outputs.detach()
            if self._task is None:
                self._task = task_of(inputs, outputs, self._targets(), self._loss)
            if isinstance(self._loss, Fitted):
                targets = self._loss.fit(outputs, targets)
            rows = None
            if self._task in ("binary", "multiclass", "next_token"):
                last = self._task == "next_token" and loss_name(self._loss) not in OF_CLASSES
                rows = by_class(outputs, targets, last=last)
            if rows is not None:
                self._add_classes(*rows)
            elif self._task in ("binary", "multilabel") and outputs.numel() == targets.numel():
                self._add_answers(outputs.flatten(), targets.flatten())

    def _add_classes(self, outputs: Tensor, labels: Tensor) -> None:
        labels = labels > 0 if self._task == "binary" else labels
        top = outputs.max(1)
        kept = labels != getattr(self._loss, "ignore_index", IGNORED)
        right = (top.indices == labels) & top.values.isfinite() & kept
        self._right = self._right + right.sum().expand(len(BOUNDS))
        self._count = self._count + kept.sum()

    def _add_answers(self, outputs: Tensor, targets: Tensor) -> None:
        finite = outputs.isfinite()
        right = [((outputs > a) == (targets > b)) & finite for a, b in BOUNDS]
        self._right = self._right + torch.stack(right).sum(1)
        self._count = self._count + len(targets)
        self._signed = self._signed | (targets < 0).any()
        self._logits = self._logits | (((outputs < 0) | (outputs > 1)) & finite).any()

    def end_epoch(self) -> dict[str, float]:
        """Return the accuracy of the epoch, if the task has one, and start over."""
        right, count = self._right, int(self._count)
        meaning = 0 if self._signed else 1 if self._logits else 2
        self._start()
        return {"accuracy": int(right[meaning]) / count} if isinstance(right, Tensor) else {}
