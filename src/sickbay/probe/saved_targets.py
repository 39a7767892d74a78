"""Find the targets of a loss in its graph, which has them until backward is over.

So they are known whatever surrounds the loss: weights, other terms, a function of the user's own.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

from torch import Tensor

from sickbay.probe.loss_graph import (
    LOSSES,
    MOVING,
    SUMMING,
    distance,
    finish,
    inputs_of,
    leads_to,
    shape_of,
    title,
    variable_side,
)
from sickbay.probe.recover_targets import rounded
from sickbay.probe.saved_tensors import HiddenError, saved
from sickbay.probe.seen_batch import Pair

MOST = 200  # nodes looked at
IGNORED = -100  # class number that torch ignores if nothing else is said
LARGEST = 2**62  # a node keeps a number below 0 as one above this
OF_ANSWERS = ("BinaryCrossEntropy", "BinaryCrossEntropyWithLogits")
TURNING = ("Transpose", "Permute", "T", "Index", "Expand")  # what changes the order of values


def compared(node: Any, source: Any, output: Tensor) -> list[Pair]:
    """Return what is compared with the model's output, each with the loss that does it.

    `node` is that of the loss, and `source` that of the output. Losses of samples that are weighted
    one by one do not count: those of a policy are weighted by what its actions have earned. Yes
    and no may have weights of their own.

    >>> import torch
    >>> x, targets = torch.ones(4, 2), torch.tensor([0, 1, 2, 1])
    >>> outputs = torch.nn.Linear(2, 3)(x)
    >>> loss = 0.1 * torch.nn.functional.cross_entropy(outputs, targets) + outputs.square().mean()
    >>> [pair] = compared(loss.grad_fn, outputs.grad_fn, outputs)
    >>> pair.loss, pair.targets.tolist()
    ('cross_entropy', [0, 1, 2, 1])
    """
    found = []
    for each in _losses(node):
        with suppress(HiddenError):
            found += _pairs(each, source, output.detach())
    return found


def settled(pairs: Iterable[Pair]) -> list[Pair]:
    """Return pairs without those whose targets cannot be worked out from the outputs.

    They follow from the difference of both, so they are rounded, and need finite outputs. Targets
    that are all the same are those of a penalty.
    """
    kept = []
    for pair in pairs:
        if pair.derived:
            pair = replace(pair, targets=rounded(pair.targets))
            finite = bool(pair.outputs.isfinite().all())
            if not finite or pair.has_one_target():
                continue
        kept.append(pair)
    return kept


def _losses(node: Any) -> Iterator[Any]:
    """Yield the nodes of losses that are summed, with one weight for all samples or for a class."""
    waiting, seen = [node], 0
    while waiting and seen < MOST:
        node = waiting.pop(0)
        seen += 1
        if title(node) in LOSSES or distance(node):
            yield node
        with suppress(HiddenError):
            if title(node) in SUMMING and (_weighs_alike(node) or _weighs_answers(node)):
                waiting += inputs_of(node)


def _weighs_alike(node: Any) -> bool:
    if title(node) not in ("Mul", "Div") or not shape_of(node):
        return True
    factors = (saved(node, name) for name in ("self", "other"))
    return all(each.numel() == 1 for each in factors if isinstance(each, Tensor))


def _weighs_answers(node: Any) -> bool:
    """Return whether a node multiplies the losses of yes and no by two weights above 0.

    Looked at on the CPU alone: values on a GPU would have to be waited for.
    """
    before = inputs_of(node)
    if title(node) != "Mul" or len(before) != 1 or title(before[0]) not in OF_ANSWERS:
        return False
    targets = saved(before[0], "target")
    factors = (saved(node, name) for name in ("self", "other"))
    known = [each for each in factors if isinstance(each, Tensor) and each.shape == targets.shape]
    if len(known) != 1 or not (known[0].is_cpu and targets.is_cpu):
        return False
    yes = targets == 1
    groups = [known[0][each] for each in (yes, ~yes)]
    if not all(len(each) for each in groups) or not bool(((targets == 0) | yes).all()):
        return False
    lowest, highest = ([float(end(each)) for each in groups] for end in (Tensor.min, Tensor.max))
    return lowest == highest and lowest[0] != lowest[1] and min(lowest) > 0


def _pairs(node: Any, source: Any, output: Tensor) -> list[Pair]:
    if distance(node):
        return _by_hand(node, source, output)
    if not leads_to(next(iter(inputs_of(node)), None), source):
        return []
    origin = finish(LOSSES[title(node)], node)
    given, targets = saved(node, "self").detach(), saved(node, "target")
    targets = without_ignored(targets, getattr(node, "_saved_ignore_index", IGNORED))
    if origin.loss == "cross_entropy":
        inner = next(iter(inputs_of(node)))
        while title(inner) in MOVING:
            inner = next(iter(inputs_of(inner)))
        shape = shape_of(inner)  # nll may have added a dimension
        if given.ndim == 2:  # or have put places and samples into one
            shape = tuple(given.shape)
        whole = _is_viewed(inner, source) and prod(shape) == output.numel()
        given = output if whole else given
        if given.numel() == output.numel() and len(shape) > 1:
            given, targets = given.reshape(shape), targets.reshape(shape[0], *shape[2:])
    if given.numel() != output.numel():  # some of the outputs, as the values of actions
        return []
    return [Pair.of(given, targets, origin.loss, origin.output)]


def without_ignored(targets: Tensor, index: int) -> Tensor:
    """Return class numbers with those that a loss ignores below 0.

    >>> import torch
    >>> without_ignored(torch.tensor([3, 0, 2]), 0).tolist()
    [3, -100, 2]
    """
    if targets.is_floating_point() or not 0 <= index < LARGEST:
        return targets
    return targets.masked_fill(targets == index, IGNORED)


def _by_hand(node: Any, source: Any, output: Tensor) -> list[Pair]:
    """Work out the targets from the difference that is squared, or made absolute."""
    [inner] = inputs_of(node)
    if (ours := variable_side(inner)) is None:
        return []
    off = saved(node, "self").detach()
    same = off.numel() == output.numel() and shape_of(ours) == off.shape
    if not same or not _is_viewed(inner, source) or inner._saved_alpha != 1:
        return []
    given = output.reshape(off.shape)
    targets = given - off if inner.next_functions[0][0] is not None else given + off
    origin = finish(distance(node), inner)
    return [replace(Pair.of(given, targets, origin.loss, origin.output), derived=True)]


def _is_viewed(node: Any, source: Any) -> bool:
    """Return whether a node gets an output as it is, up to its shape."""
    for each in _backwards(node):
        if each is source:
            return True
        if title(each) not in MOVING or title(each) in TURNING:
            break
    return False


def _backwards(node: Any) -> Iterator[Any]:
    while before := inputs_of(node):
        node = before[0]
        yield node
