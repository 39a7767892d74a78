"""A loss that leaves out the padding."""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from sickbay.loss_probe import harmless
from sickbay.recipe import Loss
from sickbay.remedies.fit_loss_to_task import IGNORED, Fitted
from sickbay.remedies.loss_code import loss_code

OF_LABELS = (nn.CrossEntropyLoss, nn.NLLLoss)
TURNED = 1e-4  # one minus the cosine of two gradients: what rounding may do


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


def without_padding(
    loss: Loss, label: int, outputs: Tensor, targets: Tensor
) -> tuple[nn.Module, str] | None:
    """Return a loss that leaves out a label, and the code that makes it.

    None if the loss does not ignore -100, which is tried out on some `outputs` and `targets`.
    """
    made = copy.deepcopy(loss)
    if isinstance(made, Fitted) and isinstance(made.loss, OF_LABELS):
        made.loss.ignore_index = label - made.first
        return made, f"loss.loss.ignore_index = {label - made.first}"
    if isinstance(made, OF_LABELS):
        made.ignore_index = label
        return made, f"loss.ignore_index = {label}"
    wrapped = WithoutPadding(made, label)
    if not leaves_out(wrapped, outputs, targets):
        return None
    return wrapped, f"loss = {wrapped}"


def leaves_out(wrapped: WithoutPadding, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether padding gets no gradient, and all else one in the same direction as before.

    >>> def own(outputs, labels):
    ...     return -outputs.log_softmax(1)[torch.arange(len(labels)), labels].mean()
    >>> some = torch.rand(3, 200), torch.tensor([0, 2, 0])
    >>> losses = torch.nn.functional.cross_entropy, own  # the second takes -100 for class 100
    >>> [leaves_out(WithoutPadding(each, 0), *some) for each in losses]
    [True, False]
    """
    try:
        before, after = (_gradient(each, outputs, targets) for each in (wrapped.loss, wrapped))
    except Exception:  # such as an IndexError: -100 is no class
        return False
    over = targets == wrapped.ignore_index
    return any(
        not bool(rows[over].any()) and _same_direction(was[~over], rows[~over])
        for was, rows in zip(
            _by_position(before, targets), _by_position(after, targets), strict=True
        )
    )


def _gradient(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    leaf = outputs.detach().clone().requires_grad_()
    with torch.enable_grad():
        (found,) = torch.autograd.grad(harmless(loss)(leaf, targets), leaf)
    return found.double()


def _by_position(values: Tensor, targets: Tensor) -> Iterator[Tensor]:
    """Yield values with the classes last, in each way in which there is one target for them."""
    if values.shape[:-1] == (targets.numel(),):  # all positions are joined
        yield values.reshape(*targets.shape, -1)
    for dim in range(1, values.ndim):
        moved = values.movedim(dim, -1)
        if moved.shape[:-1] == targets.shape:
            yield moved


def _same_direction(before: Tensor, after: Tensor) -> bool:
    """Return whether all rows point the same way; false if any is zero or not finite."""
    cosines = nn.functional.cosine_similarity(before, after, dim=-1, eps=1e-30)
    return bool((cosines > 1 - TURNED).all())
