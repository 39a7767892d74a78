"""Whether layers follow each other without an activation, by the autograd graph of the outputs."""

from typing import Any

from sickbay.probe.loss_graph import (
    ACTIVATIONS,
    MOVING,
    NODES,
    activation,
    inputs_of,
    kernels_of,
    nodes,
    title,
    unmoved,
)

# Operations that leave a chain of layers a linear function of its inputs.
LINEAR = (
    *MOVING, "Add", "Sub", "Mean", "Sum", "NativeDropout", "AvgPool2D", "AdaptiveAvgPool2D", "Neg",
)  # fmt: skip
# So do products, unless both factors were computed. Where the factors are among the inputs:
PRODUCTS = {
    "Addmm": slice(1, 3), "Mm": slice(2), "Bmm": slice(2), "Convolution": slice(2),
    "Mul": slice(2), "Div": slice(2),
}  # fmt: skip


def has_linear_layers(output: Any) -> bool:
    """Return whether a kernel follows another one, and nothing but the output has an activation.

    >>> import torch
    >>> from torch import nn
    >>> layers = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2), nn.Softmax(dim=1))
    >>> has_linear_layers(layers(torch.ones(4, 3)).grad_fn)
    True
    >>> has_linear_layers(layers[1:](torch.ones(4, 2)).grad_fn)
    False
    """
    _, _, node = activation(output)
    before = inputs_of(node)[0] if title(node) in ACTIVATIONS else node
    return is_linear(before) and _in_a_row(before)


def is_linear(node: Any) -> bool:
    """Return whether an output is a linear function of the inputs, as far as the graph shows it.

    >>> import torch
    >>> from torch import nn
    >>> linear = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.1), nn.Linear(2, 1))
    >>> is_linear(linear(torch.ones(4, 3)).grad_fn)
    True
    >>> is_linear(torch.relu(linear(torch.ones(4, 3))).grad_fn)
    False
    """
    graph = nodes(node, most=NODES)
    return len(graph) <= NODES and all(map(_keeps_linear, graph))


def _keeps_linear(node: Any) -> bool:
    if hasattr(node, "variable") or title(node) in LINEAR:
        return True
    if title(node) not in PRODUCTS:
        return False
    factors = [each for each, _ in node.next_functions[PRODUCTS[title(node)]] if each is not None]
    return sum(not hasattr(unmoved(each), "variable") for each in factors) < 2


def _in_a_row(node: Any) -> bool:
    """Return whether the input of a kernel was computed with another kernel.

    Layers that require no gradient leave no trace.
    """
    users = {each for each in nodes(node) if title(each) in PRODUCTS and kernels_of(each)}
    return any(
        not users.isdisjoint(nodes(each))
        for user in users
        for each in inputs_of(user)
        if not hasattr(unmoved(each), "variable")
    )
