"""Which output activation and loss fit a task, with the targets brought into the loss's shape."""

from collections.abc import Mapping
from math import prod
from typing import Literal

from torch import Tensor, nn

from sickbay.recipe import Loss
from sickbay.remedies.loss_code import loss_code
from sickbay.tasks import BROADCAST, OF_ANSWERS, OF_CLASSES
from sickbay.vitals import Setup

Meaning = Literal["classes", "answers", "values"]
# The output activation that a loss needs; other losses take any number.
FEEDS: Mapping[str, str] = {"bce": "sigmoid", "nll": "log_softmax", "kl_div": "log_softmax"}
MEANINGS: Mapping[str, Meaning] = {
    "binary": "answers",
    "multilabel": "answers",
    "multiclass": "classes",
    "next_token": "classes",
    "regression": "values",
}
LOSSES: Mapping[Meaning, type[nn.Module]] = {
    "classes": nn.CrossEntropyLoss,
    "answers": nn.BCEWithLogitsLoss,
    "values": nn.MSELoss,
}
FITTING: Mapping[Meaning, tuple[str, ...]] = {
    "classes": OF_CLASSES,
    "answers": OF_ANSWERS,
    "values": (*BROADCAST, ""),  # a loss that was written by hand is mostly a distance
}
IGNORED = -100  # the label that torch's losses ignore
LESS = 0.5  # for targets that never say yes


class Fitted(nn.Module):
    """A loss that converts the targets to the type and shape that it needs.

    `first` is the label of the first class, or of no. `last` means that classes are in the last
    dimension of the outputs, where torch's losses expect them in the second. `yes` is what the
    targets have for yes.

    >>> import torch
    >>> loss = Fitted(nn.CrossEntropyLoss(), "classes", first=1)
    >>> loss(torch.eye(3), torch.tensor([[1.0], [2.0], [3.0]])).item() < 0.6
    True
    >>> loss
    sickbay.remedies.Fitted(nn.CrossEntropyLoss(), 'classes', first=1)
    """

    def __init__(
        self, loss: Loss, meaning: Meaning, first: int = 0, last: bool = False, yes: float = 1.0
    ) -> None:
        super().__init__()
        self.loss, self.meaning, self.first, self.last = loss, meaning, first, last
        self.yes = yes

    def __repr__(self) -> str:
        first = f", first={self.first}" if self.first else ""
        last = ", last=True" if self.last else ""
        yes = f", yes={self.yes!r}" if self.yes != 1 else ""
        given = f"{loss_code(self.loss)}, {self.meaning!r}{first}{last}{yes}"
        return f"sickbay.remedies.Fitted({given})"

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.loss(*self.compared(outputs, targets))

    def compared(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the loss compares."""
        fitted = self.fit(outputs, targets)
        return outputs.movedim(-1, 1) if self.last else outputs, fitted

    def fit(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Convert the targets to the type and shape that the loss needs."""
        if self.meaning == "classes":
            if targets.shape == outputs.shape and outputs.shape[-1] > 1:
                return targets.to(outputs.dtype)  # one-hot, or probabilities
            return self._labels(targets, outputs.movedim(-1, 1) if self.last else outputs)
        fitted = targets.to(outputs.dtype)
        if targets.numel() == outputs.numel():
            fitted = fitted.reshape(outputs.shape)
        if self.meaning == "answers" and bool((fitted == -1).any()):
            return (fitted + 1) / 2
        return (fitted - self.first) / self.yes if self.meaning == "answers" else fitted

    def _labels(self, targets: Tensor, outputs: Tensor) -> Tensor:
        """Return the numbers of the classes, from 0 on."""
        labels = targets.round() if targets.is_floating_point() else targets
        labels = labels.long().reshape(outputs.shape[:1] + outputs.shape[2:])
        if self.first == 0 and outputs.shape[1] == 2:
            return labels.where(labels != -1, 0)  # -1 and 1 mean no and yes
        return labels.where(labels == IGNORED, labels - self.first)


def meaning(setup: Setup) -> Meaning | None:
    """Return what the outputs should mean, None if the task is not known.

    Whole numbers, one per sample, that a loss treats as quantities are class numbers.
    """
    one_each = setup.target_shape[1:] in ((), (1,))
    if setup.loss in OF_ANSWERS and setup.labels == 2 and _outputs(setup) == 1:
        return "answers"
    if setup.task == "regression" and setup.labels >= 2 and one_each:
        return "classes"
    several = _outputs(setup) > 1
    if setup.task == "binary" and several and setup.target_shape:
        per_target = prod(setup.output_shape) == _outputs(setup) * prod(setup.target_shape)
        return "classes" if per_target else "answers"
    return MEANINGS.get(setup.task)


def first_label(setup: Setup, targets: Tensor | None) -> int:
    """Return the label of the first class: 0, unless the labels run from 1, or from -1 to 1.

    If there is an output for a class 0 that never occurs, labels from 1 on are right.

    >>> import torch
    >>> first_label(Setup(output_shape=(8, 3)), torch.tensor([1, 3, 2, 3]))
    1
    >>> first_label(Setup(output_shape=(8, 4)), torch.tensor([1, 3, 2, 3]))
    0
    """
    labels = _labels(targets)
    if labels is None or labels.min() not in (-1, 1):
        return 0
    first, count = int(labels.min()), int(labels.max() - labels.min()) + 1
    if first == -1 and (count != 3 or len(labels) != 3):
        return 0
    return first if _outputs(setup) in (1, count) else 0


def width(setup: Setup, targets: Tensor | None) -> int | None:
    """Return how many outputs are needed, None if the number is right.

    >>> import torch
    >>> width(Setup(task="multiclass", output_shape=(8, 3)), torch.tensor([0, 4, 1]))
    5
    """
    labels = _labels(targets)
    if meaning(setup) != "classes" or labels is None:
        return None
    needed = int(labels.max()) + 1 - first_label(setup, targets)
    return needed if _outputs(setup) == 1 or needed > _outputs(setup) else None


def loss_fits(setup: Setup) -> bool:
    """Return whether the loss fits the task, as far as that is known.

    Whole numbers that a loss treats as quantities may be quantities indeed.

    >>> loss_fits(Setup(task="multiclass", loss="mse")), loss_fits(Setup(task="regression"))
    (False, True)
    """
    means = MEANINGS.get(setup.task)
    return means is None or setup.loss in FITTING[means]


def right_output(setup: Setup) -> str:
    """Return the output activation that fits the loss."""
    return FEEDS.get(setup.loss, "linear")


def new_loss(setup: Setup, targets: Tensor | None) -> Fitted | None:
    """Return the loss that fits the task, None if the task is not known."""
    means, yes = meaning(setup), lesser_yes(setup, targets)
    if yes < 1:
        return Fitted(LOSSES["answers"](), "answers", yes=yes)
    if means is None:
        return None
    first, labels = first_label(setup, targets), _labels(targets)
    if means == "values" or (means == "answers" and (labels is None or labels.tolist() != [1, 2])):
        first = 0
    return Fitted(LOSSES[means](), means, first, means == "classes" and classes_are_last(setup))


def lesser_yes(setup: Setup, targets: Tensor | None) -> float:
    """Return what targets have for yes: 1, or less if they were divided by too much.

    >>> import torch
    >>> lesser_yes(Setup(loss="bce_logits"), torch.tensor([[0.0, 0.25], [0.25, 0.0]]))
    0.25
    """
    if setup.loss not in ("bce", "bce_logits") or targets is None or not targets.numel():
        return 1.0
    low, high = float(targets.min()), float(targets.max())
    return high if low == 0 < high < LESS else 1.0


def classes_are_last(setup: Setup) -> bool:
    """Return whether the outputs hold classes in their last dimension.

    If the shape allows both, a loss of classes that does not fit has them in the second.

    >>> classes_are_last(Setup(output_shape=(8, 6, 12), target_shape=(8, 6)))
    True
    >>> classes_are_last(Setup(output_shape=(8, 12, 6), target_shape=(8, 6)))
    False
    """
    outputs, targets = setup.output_shape, setup.target_shape
    if len(outputs) < 3 or targets != outputs[:-1]:
        return False
    second = targets == (*outputs[:1], *outputs[2:])
    return not second or setup.loss in OF_CLASSES


def _outputs(setup: Setup) -> int:
    """Return how many outputs there are for a target: in dimension 1, as in torch's losses."""
    return setup.output_shape[1] if len(setup.output_shape) > 1 else 1


def _labels(targets: Tensor | None) -> Tensor | None:
    """Return the different labels; None if the targets are not labels, one for each sample."""
    if targets is None or not targets.numel() or targets.shape[1:] not in ((), (1,)):
        return None
    labels = targets[targets != IGNORED].unique()  # type: ignore[no-untyped-call]
    whole = labels.isfinite().all() and (labels == labels.round()).all()
    return labels if labels.numel() and bool(whole) else None
