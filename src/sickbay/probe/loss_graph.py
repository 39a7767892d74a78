"""Read what a loss is made of from the autograd graph behind it.

The nodes outlive backward. So this needs no hooks, recognises losses and activations whether they
are modules or functions, and costs nothing until it is called.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from math import inf, prod
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
# Operations that scale, add or average the losses of samples.
SUMMING = ("Mean", "Sum", "Div", "Mul", "Add", "Neg", "Sub", "Abs", "Pow", "ToCopy")
# Operations that move values without changing them.
MOVING = (
    "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Slice", "Select", "Index", "T",
    "Transpose", "Permute", "Clone", "ToCopy", "Expand", "Cat", "Contiguous", "Alias", "Split",
)  # fmt: skip
# Losses written out by hand: the operations inside the mean, back to where the output comes in.
COMPOSED = {
    ("Sub", "Exp"): "poisson_nll",
    ("Relu", "Rsub", "Mul"): "hinge",
    ("Clamp", "Rsub", "Mul"): "hinge",
    ("ClampMin", "Rsub", "Mul"): "hinge",
}
DEPTH = 24  # nodes followed at most
NODES = 20_000  # larger graphs are not searched for strays


@dataclass(frozen=True)
class Origin:
    """What was found behind a loss; "" if unknown."""

    loss: str = ""
    output: str = ""
    stretched: bool = False  # the output was broadcast to the shape of the targets
    bare: bool = False  # the loss has no weights or other terms around it
    summed: bool = False  # the loss is the sum over all values, not their mean
    source: Any = field(default=None, compare=False)  # the node that computed the output


def origin(node: Any) -> Origin:
    """Return what is behind the node of a loss; nothing if it combines several losses."""
    found, bare, summing = _terms(node)
    if len(found) != 1:
        return Origin()
    [(name, node)] = found.items()
    summed = bare and "Sum" in summing and "Mean" not in summing
    return replace(finish(name, node), bare=bare, summed=summed)


def compared_by(node: Any) -> set[str]:
    """Return the names of the losses that the node of a loss combines."""
    return {*_terms(node)[0]}


def _terms(node: Any) -> tuple[dict[str, Any], bool, set[str]]:
    """Return the losses behind a node, whether nothing is around them, and what sums samples."""
    found: dict[str, Any] = {}
    waiting, bare, summing = [node], True, set[str]()
    for _ in range(DEPTH):
        if not waiting:
            break
        node = waiting.pop(0)
        name, inner = _composed(node)
        if name or (name := LOSSES.get(title(node), "")):
            found.setdefault(name, inner)
            summing.add(_reduction(node))
        elif title(node) == "LogSoftmax" and not ranks_samples(node):
            # The only trace if targets are class probabilities.
            found.setdefault("cross_entropy", node)
        elif title(node) in SUMMING:
            bare &= title(node) in ("Mean", "Sum", "ToCopy")
            summing.add(title(node))
            waiting += inputs_of(node)
    return found, bare, summing


def activation(node: Any) -> tuple[str, bool, Any]:
    """Return the activation behind a node, whether its output was broadcast, and its own node."""
    stretched = False
    for _ in range(DEPTH):
        name = title(node)
        if name not in MOVING:
            return ACTIVATIONS.get(name, "linear" if name else ""), stretched, node
        stretched |= name == "Expand"
        if not (before := inputs_of(node)):
            break
        node = before[0]
    return "", stretched, node


def leads_to(node: Any, earlier: Any) -> bool:
    """Return whether only an activation and moved values lie between a node and an earlier one."""
    for _ in range(DEPTH):
        if node is None or node is earlier:
            return node is not None
        if title(node) not in MOVING and title(node) not in ACTIVATIONS:
            return False
        node = _first_input(node)
    return False


def nodes(*ends: Any, most: float = inf) -> set[Any]:
    """Return these nodes and all that they were computed from, or `most` and a few of them.

    >>> import torch
    >>> len(nodes((torch.ones(1, requires_grad=True) * 2 + 1).grad_fn))
    3
    """
    return _reachable((node for node in ends if node is not None), inputs_of, most)


def shape_of(node: Any) -> tuple[int, ...]:
    """Return the shape of what a node computed, () if that is not known."""
    known = getattr(node, "_input_metadata", None)
    return tuple(known[0].shape) if known else ()


def count_strays(node: Any, own: Collection[int]) -> int:
    """Count the kernels behind a loss that are not in `own` (by id) but lie between some that are.

    The model uses such a layer without registering it, as when layers are kept in a plain list.
    """
    graph = nodes(node, most=NODES)
    if len(graph) > NODES:
        return 0
    kernels = {each: kernels_of(each) for each in graph}
    users = [each for each in graph if any(id(kernel) in own for kernel in kernels[each])]
    before = nodes(*(earlier for user in users for earlier in inputs_of(user)))
    outputs: dict[Any, list[Any]] = defaultdict(list)
    for each in graph:
        for earlier in inputs_of(each):
            outputs[earlier].append(each)
    after = _reachable((later for user in users for later in outputs[user]), outputs.__getitem__)
    return sum(id(kernel) not in own for each in before & after for kernel in kernels[each])


def inputs_of(node: Any) -> list[Any]:
    """Return the nodes that a node was computed from."""
    return [each for each, _ in node.next_functions if each is not None]


def _first_input(node: Any) -> Any:
    return next(iter(inputs_of(node)), None)


def _reachable(
    starts: Iterable[Any], neighbours: Callable[[Any], Iterable[Any]], most: float = inf
) -> set[Any]:
    """Return the starts and everything that their neighbours lead to."""
    waiting = list(starts)
    found = set(waiting)
    while waiting and len(found) <= most:
        new = set(neighbours(waiting.pop())) - found
        waiting += new
        found |= new
    return found


def kernels_of(node: Any) -> list[nn.Parameter]:
    """Return the kernels that a node uses, directly or after moving their values."""
    sources = (getattr(unmoved(each), "variable", None) for each in inputs_of(node))
    return [each for each in sources if isinstance(each, nn.Parameter) and each.ndim > 1]


def unmoved(node: Any) -> Any:
    """Return the node whose values a node has only moved, or the node itself."""
    while title(node) in MOVING and len(inputs_of(node)) == 1:
        node = inputs_of(node)[0]
    return node


def title(node: Any) -> str:
    """Return the name of a node without its ending: `MseLoss` for `MseLossBackward0`.

    Compiled functions do not show what is inside, and count as having no name.
    """
    name = "" if node is None else node.name().rpartition("Backward")[0].rpartition("::")[2]
    return "" if name == "CompiledFunction" else name


def ranks_samples(node: Any) -> bool:
    """Return whether a softmax runs over samples with one value each, as a loss of ranks does."""
    shape = shape_of(node)
    return softmax_dimension(node) == 0 and prod(shape[1:]) == 1 != shape[0]


def softmax_dimension(node: Any) -> int:
    """Return the dimension of a softmax, counted from the front."""
    found = int(node._saved_dim)
    found -= 2**64 if found >= 2**63 else 0
    return found + len(shape_of(node)) if found < 0 else found


def distance(node: Any) -> str:
    """Return the name of the loss if a node squares a difference or makes it absolute, else "".

    >>> import torch
    >>> off = torch.ones(3, requires_grad=True) - 2
    >>> [distance(each.grad_fn) for each in (off**2, off.abs(), off**4, off)]
    ['mse', 'l1', '', '']
    """
    name = {"Pow": "mse", "Abs": "l1"}.get(title(node), "")
    if not name or title(_first_input(node)) != "Sub":
        return ""
    return "" if getattr(node, "_saved_exponent", 2) != 2 else name


def variable_side(node: Any) -> Any:
    """Return what a difference takes a constant from, or takes from one; None if it has no such."""
    before = inputs_of(node)
    return before[0] if len(before) == 1 and len(node.next_functions) == 2 else None


def _reduction(node: Any) -> str:
    """Return `Sum` or `Mean` if the node of a loss does that to the losses of samples, else ""."""
    known = {1: "Mean", 2: "Sum"}.get(getattr(node, "_saved_reduction", 0), "")
    return known or (title(node) if title(node) in ("Mean", "Sum") else "")


def _composed(node: Any) -> tuple[str, Any]:
    """Return the name of a loss written out by hand, and its innermost node."""
    if title(node) in ("Mean", "Sum"):
        if name := distance(_first_input(node)):
            return name, _first_input(_first_input(node))
        for names, loss in COMPOSED.items():
            inner = node
            for name in names:
                inner = _first_input(inner)
                if title(inner) != name:
                    break
            else:
                return loss, inner
    return "", node


def finish(name: str, node: Any) -> Origin:
    """Return what is behind the node of the loss itself."""
    if title(node) != "LogSoftmax":
        node = _first_input(node)
    output, stretched, node = activation(node)
    if name == "nll" and output == "log_softmax":
        name = "cross_entropy"
    if name == "cross_entropy" and output == "log_softmax":
        output, stretched, node = activation(_first_input(node))
    return Origin(name, output, stretched, source=node)
