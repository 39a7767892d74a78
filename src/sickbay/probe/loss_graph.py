"""What a loss is made of, read from the graph that autograd keeps behind it.

The nodes outlive backward, so this needs no hook, sees losses and activations whether they are
modules or plain functions, and costs nothing until it is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

LOSSES = {
    "NllLoss": "nll",
    "NllLoss2D": "nll",
    "NllLossNd": "nll",
    "BinaryCrossEntropy": "bce",
    "BinaryCrossEntropyWithLogits": "bce_logits",
    "MseLoss": "mse",
    "HuberLoss": "huber",
    "SmoothL1Loss": "smooth_l1",
    "SoftMarginLoss": "soft_margin",
    "MultiMarginLoss": "multi_margin",
    "MultilabelMarginLoss": "multilabel_margin",
}
ACTIVATIONS = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "log_sigmoid",
    "Tanh": "tanh",
    "Relu": "relu",
    "Threshold": "relu",
    "Hardtanh": "clamp",
    "Clamp": "clamp",
    "ClampMin": "clamp",
    "ClampMax": "clamp",
    "Hardsigmoid": "sigmoid",
    "Softplus": "softplus",
    "Log": "log",
    "Elu": "elu",
    "LeakyRelu": "leaky_relu",
    "Gelu": "gelu",
    "Silu": "silu",
}
# What only scales, adds up or takes an average between the losses of the samples and the loss.
SUMMING = ("Mean", "Sum", "Div", "Mul", "Add", "Neg", "Sub", "Abs", "Pow", "ToCopy")
# What moves values but leaves them as they are.
MOVING = (
    "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Slice", "Select", "Index", "T",
    "Transpose", "Permute", "Clone", "ToCopy", "Expand", "Cat", "Contiguous", "Alias", "Split",
)  # fmt: skip
# Losses that are written out: what their mean is taken of, back to where the output comes in.
COMPOSED = {
    ("Abs", "Sub"): "l1",
    ("Pow", "Sub"): "mse",
    ("Sub", "Exp"): "poisson_nll",
    ("Relu", "Rsub", "Mul"): "hinge",
    ("Clamp", "Rsub", "Mul"): "hinge",
    ("ClampMin", "Rsub", "Mul"): "hinge",
}
DEPTH = 24  # nodes looked at, at the most
NODES = 20_000  # nodes of a whole graph, beyond which it is left alone


@dataclass(frozen=True)
class Origin:
    """What was found behind a loss; "" where it could not be told."""

    loss: str = ""
    output: str = ""
    stretched: bool = False  # the output was stretched to the shape of the targets
    bare: bool = False  # the loss is that alone, or a mean or sum of it
    source: Any = field(default=None, compare=False)  # the node that has made the output


def origin(node: Any) -> Origin:
    """Return what is behind the node of a loss; nothing if there are several losses in it."""
    found: dict[str, Any] = {}
    waiting, bare = [node], True
    for _ in range(DEPTH):
        if not waiting:
            break
        node = waiting.pop(0)
        name, inner = _composed(node)
        if name or (name := LOSSES.get(title(node), "")):
            found.setdefault(name, inner)
        elif title(node) == "LogSoftmax":  # class probabilities as targets leave no other trace
            found.setdefault("cross_entropy", node)
        elif title(node) in SUMMING:
            bare &= title(node) in ("Mean", "Sum", "ToCopy")
            waiting += _before(node)
    if len(found) != 1:
        return Origin()
    [(name, node)] = found.items()
    return replace(_finish(name, node), bare=bare)


def activation(node: Any) -> tuple[str, bool, Any]:
    """Return the activation whose output this is, whether it was stretched, and its node."""
    stretched = False
    for _ in range(DEPTH):
        name = title(node)
        if name not in MOVING:
            return ACTIVATIONS.get(name, "linear" if name else ""), stretched, node
        if name == "Expand":
            stretched = True
        before = _before(node)
        if not before:
            return "", stretched, node
        node = before[0]
    return "", stretched, node


def leads_to(node: Any, earlier: Any) -> bool:
    """Tell whether a node was made from another one, but for an activation and moving values."""
    for _ in range(DEPTH):
        if node is None or node is earlier:
            return node is not None
        if title(node) not in MOVING and title(node) not in ACTIVATIONS:
            return False
        node = next(iter(_before(node)), None)
    return False


def nodes(*ends: Any) -> set[Any]:
    """Return all nodes that some were made from, and these themselves.

    >>> import torch
    >>> len(nodes((torch.ones(1, requires_grad=True) * 2 + 1).grad_fn))
    3
    """
    waiting = [each for each in ends if each is not None]
    found = set(waiting)
    while waiting:
        new = set(_before(waiting.pop())) - found
        waiting += new
        found |= new
    return found


def strays(node: Any, own: Collection[int]) -> int:
    """Return how many kernels that are not in `own` (by their id) lie between some that are.

    Such a layer was used by the model but is not registered in it, as in a plain list of layers.
    """
    order, kernels = _walk(node)
    above: dict[Any, bool] = {}  # whether one of the own kernels was used nearer to the loss
    below: dict[Any, bool] = {}  # or further away from it
    for each in order:
        for earlier in _before(each):
            used = any(id(kernel) in own for kernel in kernels[each])
            above[earlier] = above.get(earlier, False) or above.get(each, False) or used
    for each in reversed(order):
        below[each] = any(
            below.get(earlier, False) or any(id(kernel) in own for kernel in kernels[earlier])
            for earlier in _before(each)
            if earlier in kernels
        )
    return sum(
        id(kernel) not in own
        for each in order
        if above.get(each) and below[each]
        for kernel in kernels[each]
    )


def _walk(node: Any) -> tuple[list[Any], dict[Any, list[Any]]]:
    """Return the nodes behind a loss, each before those that it was made from, and their kernels.

    A kernel may be turned around on its way into the node that uses it.
    """
    waits: Counter[Any] = Counter()
    found, waiting = {node}, [node]
    while waiting:
        if len(found) > NODES:
            return [], {}
        for earlier in _before(waiting.pop()):
            waits[earlier] += 1
            if earlier not in found:
                found.add(earlier)
                waiting.append(earlier)
    order, ready, kernels = [], [node], {}
    while ready:
        each = ready.pop()
        order.append(each)
        kernels[each] = [
            leaf.variable
            for earlier in _before(each)
            for leaf in _leaves(earlier)
            if leaf.variable.ndim > 1 and isinstance(leaf.variable, nn.Parameter)
        ]
        for earlier in _before(each):
            waits[earlier] -= 1
            if not waits[earlier]:
                ready.append(earlier)
    return order, kernels


def _leaves(node: Any) -> list[Any]:
    """Return the leaf that a node is, or is made from by moving values alone."""
    while title(node) in MOVING and len(_before(node)) == 1:
        node = _before(node)[0]
    return [node] if hasattr(node, "variable") else []


def title(node: Any) -> str:
    """Return the name of a node without its ending: `MseLoss` for `MseLossBackward0`.

    What torch has compiled shows only its outside, and counts as having no name.
    """
    name = "" if node is None else node.name().rpartition("Backward")[0].rpartition("::")[2]
    return "" if name == "CompiledFunction" else name


def _composed(node: Any) -> tuple[str, Any]:
    """Return the loss that is written out as the mean of something, and its innermost node."""
    if title(node) in ("Mean", "Sum"):
        for names, loss in COMPOSED.items():
            inner = node
            for name in names:
                inner = next(iter(_before(inner)), None)
                if title(inner) != name:
                    break
            else:
                return loss, inner
    return "", node


def _finish(name: str, node: Any) -> Origin:
    """Look behind the node of the loss itself."""
    if title(node) != "LogSoftmax":
        before = _before(node)
        node = before[0] if before else None
    output, stretched, node = activation(node)
    if name == "nll" and output == "log_softmax":
        name = "cross_entropy"
    if name == "cross_entropy" and output == "log_softmax":
        before = _before(node)
        output, stretched, node = activation(before[0] if before else None)
    return Origin(name, output, stretched, source=node)


def _before(node: Any) -> list[Any]:
    return [each for each, _ in node.next_functions if each is not None]
