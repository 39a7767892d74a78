"""Which output activation and loss fit a task, with the targets brought into the loss's shape."""

from collections.abc import Mapping
from typing import Literal

from torch import Tensor, nn

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


class Fitted(nn.Module):
    """A loss that converts the targets to the type and shape that it needs.

    >>> import torch
    >>> loss = Fitted(nn.CrossEntropyLoss(), "classes")
    >>> loss(torch.eye(3), torch.tensor([[0.0], [1.0], [2.0]])).item() < 0.6
    True
    """

    def __init__(self, loss: nn.Module, meaning: Meaning) -> None:
        super().__init__()
        self.loss, self.meaning = loss, meaning

    def __repr__(self) -> str:
        return f"sickbay.remedies.Fitted(nn.{self.loss}, {self.meaning!r})"

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        loss: Tensor = self.loss(outputs, self.fit(outputs, targets))
        return loss

    def fit(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Convert the targets to the type and shape that the loss needs."""
        if self.meaning == "classes":
            if targets.shape == outputs.shape and outputs.shape[-1] > 1:
                return targets.float()  # one-hot, or probabilities
            return targets.long().reshape(outputs.shape[:1] + outputs.shape[2:])
        fitted = targets.to(outputs.dtype)
        if targets.numel() == outputs.numel():
            fitted = fitted.reshape(outputs.shape)
        if self.meaning == "answers" and bool((fitted == -1).any()):
            return (fitted + 1) / 2
        return fitted


def meaning(setup: Setup) -> Meaning | None:
    """Return what the outputs should mean, None if the task is not known.

    Whole numbers, one per sample, that a loss treats as quantities are class numbers.
    """
    if setup.task == "regression" and setup.labels > 2 and setup.target_shape[1:] in ((), (1,)):
        return "classes"
    return MEANINGS.get(setup.task)


def width(setup: Setup, targets: Tensor | None) -> int | None:
    """Return how many outputs are needed, None if the number is right."""
    alone = setup.output_shape[-1:] == (1,)
    if meaning(setup) != "classes" or not alone or targets is None:
        return None
    return int(targets.max()) + 1


def right_output(setup: Setup) -> str:
    """Return the output activation that fits the loss."""
    return FEEDS.get(setup.loss, "linear")


def new_loss(setup: Setup) -> Fitted | None:
    """Return the loss that fits the task, None if the task is not known."""
    means = meaning(setup)
    if means is None:
        return None
    return Fitted(LOSSES[means](), means)
