"""A loss that leaves out the padding."""

import copy

from torch import Tensor, nn

from sickbay.recipe import Loss
from sickbay.remedies.fit_loss_to_task import IGNORED, Fitted
from sickbay.remedies.loss_code import loss_code

OF_LABELS = (nn.CrossEntropyLoss, nn.NLLLoss)


class WithoutPadding(nn.Module):
    """A loss of labels that leaves out one of them. It must ignore -100, as those of torch do.

    >>> import torch
    >>> loss = WithoutPadding(nn.functional.cross_entropy, 0)
    >>> outputs, labels = torch.rand(3, 4), torch.tensor([0, 2, 0])
    >>> bool(loss(outputs, labels) == nn.functional.cross_entropy(outputs[1:2], labels[1:2]))
    True
    """

    def __init__(self, loss: Loss, ignore_index: int) -> None:
        super().__init__()
        self.loss, self.ignore_index = loss, ignore_index

    def __repr__(self) -> str:
        return f"sickbay.remedies.WithoutPadding({loss_code(self.loss)}, {self.ignore_index})"

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.loss(outputs, targets.masked_fill(targets == self.ignore_index, IGNORED))


def without_padding(loss: Loss, label: int) -> tuple[nn.Module, str]:
    """Return a loss that leaves out a label, and the code that makes it."""
    made = copy.deepcopy(loss)
    if isinstance(made, Fitted) and isinstance(made.loss, OF_LABELS):
        made.loss.ignore_index = label - made.first
        return made, f"loss.loss.ignore_index = {label - made.first}"
    if isinstance(made, OF_LABELS):
        made.ignore_index = label
        return made, f"loss.ignore_index = {label}"
    wrapped = WithoutPadding(made, label)
    return wrapped, f"loss = {wrapped}"
