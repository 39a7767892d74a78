"""The loss of an output: computed by the model itself, or by the user's function."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups.batch import LABELS, Batch, Inapplicable
from sickbay.checkups.class_outputs import classes_second
from sickbay.model_copies import tensors_in
from sickbay.tasks import Task

Loss = Callable[..., Any]
ONLY_LOSS = "the model returns only its loss, not its predictions"
NOTHING = "the model returns no predictions"


def main_output(raw: Any) -> Tensor:
    """Return the main tensor of an output: the logits, else the first with dimensions."""
    logits = output_field(raw, "logits")
    if logits is not None:
        return logits
    found = [each for each in tensors_in(raw) if each.is_floating_point()]
    for tensor in found:
        if tensor.ndim and tensor.numel():
            return tensor
    if found:
        raise Inapplicable(NOTHING if any(each.ndim for each in found) else ONLY_LOSS)
    raise TypeError(f"the model returns no tensor of numbers but {type(raw).__name__}")


def loss_by_function(loss: Loss, raw: Any, targets: Any) -> Tensor | None:
    """Return the loss that a function gives an output, None if it needs targets that are unknown.

    The function may take the whole output, or the main tensor. If it takes neither, the error is
    that of the whole output, unless the function cannot take anything but a tensor.
    """
    if targets is None:
        found: Tensor | None = loss_without_targets(loss, raw)
        return found
    if isinstance(raw, Tensor):
        return loss(raw if is_number(raw) else main_output(raw), targets)  # type: ignore[no-any-return]
    try:
        return loss(raw, targets)  # type: ignore[no-any-return]
    except Exception as error:
        of_whole = error
    try:
        return loss(main_output(raw), targets)  # type: ignore[no-any-return]
    except Exception:
        if isinstance(of_whole, TypeError | AttributeError):
            raise
        raise of_whole from None


def takes_whole_output(loss: Loss, raw: Any, targets: Any) -> bool:
    """Return whether a function takes an output of several tensors, and so may use each of them."""
    if isinstance(raw, Tensor) or targets is None:
        return False
    try:
        loss(raw, targets)
    except Exception:
        return False
    return True


def loss_without_function(raw: Any, batch: Batch, task: Callable[[], Task]) -> Tensor | None:
    """Return the loss that the model computes itself, else the usual one of the task."""
    own = own_loss(raw, labelled=any(name in LABELS for name in batch.kwargs))
    if own is not None or batch.targets is None:
        return own
    return usual_loss(task(), main_output(raw), batch.targets)


def own_loss(raw: Any, *, labelled: bool) -> Tensor | None:
    """Return the loss that a model returns, None if it returns none.

    It is the field `loss`, a sum over a dict of losses, or an output of one number. In a tuple it
    is the only number, if the model got the labels: without them that may be another term.

    >>> own_loss({"loss_box": torch.tensor(1.0), "loss_class": torch.tensor(0.5)}, labelled=True)
    tensor(1.5000)
    >>> own_loss((torch.rand(2, 3), torch.tensor(1.0)), labelled=False)
    """
    if isinstance(raw, Tensor):
        return raw if is_number(raw) else None
    named = output_field(raw, "loss")
    if named is not None:
        return named
    if isinstance(raw, Mapping) and raw and all(map(is_number, raw.values())):
        return torch.stack([each.reshape(()) for each in raw.values()]).sum()
    numbers = [each for each in raw if is_number(each)] if isinstance(raw, tuple | list) else []
    return numbers[0] if labelled and len(numbers) == 1 else None


def output_field(raw: Any, name: str) -> Tensor | None:
    """Return a tensor in an output that is a dict or an object, None if there is none."""
    found = raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)
    return found if isinstance(found, Tensor) else None


def is_number(value: Any) -> bool:
    """Return whether a value is a tensor of one floating number without dimensions."""
    return isinstance(value, Tensor) and value.ndim == 0 and value.is_floating_point()


def loss_without_targets(loss: Loss, raw: Any) -> Any:
    """Return the loss of an output that needs no targets, None if this loss needs some.

    The loss gets the output, the output and None, or each of several outputs.

    >>> anchor, same, other = torch.zeros(2, 3), torch.zeros(2, 3), torch.ones(2, 3)
    >>> loss_without_targets(torch.nn.TripletMarginLoss(), (anchor, same, other))
    tensor(0.)
    >>> loss_without_targets(torch.nn.CrossEntropyLoss(), torch.zeros(2, 3))
    """
    count = _required_arguments(loss)
    if count == 1:
        return loss(raw)
    with suppress(Exception):
        return loss(raw, None)
    several = isinstance(raw, tuple | list) and len(raw) == count
    if several and len({getattr(each, "shape", None) for each in raw}) == 1:
        return loss(*raw)
    return None


def usual_loss(task: Task, output: Tensor, targets: Tensor) -> Tensor | None:
    """Return the usual loss of a task, None if the task is unknown."""
    if task in ("multiclass", "next_token"):
        if not classes_second(output, targets):
            output = output.flatten(0, -2)
        return F.cross_entropy(output, targets if output.ndim > 2 else targets.flatten())
    if task in ("binary", "multilabel"):
        return F.binary_cross_entropy_with_logits(output.view_as(targets), targets.float())
    if task == "regression" and output.numel() == targets.numel():
        return F.mse_loss(output.view_as(targets), targets)
    return None


def _required_arguments(loss: Loss) -> int:
    """Return how many arguments a loss needs, 0 if that is not known."""
    function = loss.forward if isinstance(loss, torch.nn.Module) else loss
    try:
        known = signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in kinds and each.default is each.empty for each in known)
