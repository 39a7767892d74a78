"""The weights of a model that multiply what they are given."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

# Operations, by the dimension of a weight that counts units: the first, the second, or unknown.
FIRST = {"linear", "conv1d", "conv2d", "conv3d", "bilinear", "multi_head_attention_forward"}
FIRST |= {"lstm", "gru", "rnn_tanh", "rnn_relu"}
FIRST |= {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}
SECOND = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
UNKNOWN = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "addmm", "baddbmm", "einsum"}
EMBEDDING = "embedding"


@dataclass(frozen=True)
class Kernel:
    """A weight, seen from the operation that takes it.

    Attributes:
        name: Its name in the model.
        size: The root mean square times the root of the number of inputs of a unit.
        outward: The same with the number of units, which some starts go by.
        constant: Whether all values are the same, and not zero.
        symmetric: Whether all units have the same weights, and not zero.
        looked_up: Whether it is an embedding, of which each row is used by itself.
    """

    name: str
    size: float
    outward: float
    constant: bool = False
    symmetric: bool = False
    looked_up: bool = False


def kernels(case: Case) -> list[Kernel]:
    """Return the trainable ones, in the order of the model.

    Weights that are scaled or shaped anew on their way are none, as their own size says nothing.
    """
    found = []
    for name, each in case.model.named_parameters():
        by = case.seen.taken.get(name, set())
        if not each.requires_grad or each.ndim < 2:
            continue
        weight = each.detach().float()
        if EMBEDDING in by:
            size = weight.square().mean().sqrt().item()
            found.append(Kernel(name, size, size * sqrt(weight.shape[1]), looked_up=True))
        elif by & (FIRST | SECOND):
            layer = case.model.get_submodule(name.rpartition(".")[0])
            apart = getattr(layer, "groups", 1) != 1  # units that see inputs of their own
            found.append(_known(name, weight, 0 if by & FIRST else 1, apart))
        elif by & UNKNOWN:
            found.append(_unknown(name, weight))
    return found


def _known(name: str, weight: Tensor, units: int, apart: bool) -> Kernel:
    count = weight.shape[units]
    inputs = weight.numel() // count
    scale = weight.square().mean().sqrt().item()
    judged = count > 1 and not apart and bool(scale)
    constant = judged and inputs > 1 and bool((weight == weight.flatten()[0]).all())
    one = weight.narrow(units, 0, 1)
    symmetric = judged and bool((weight == one).all())
    return Kernel(name, scale * sqrt(inputs), scale * sqrt(count), constant, symmetric)


def _unknown(name: str, weight: Tensor) -> Kernel:
    """Take the dimension that excuses more, where it is not known which is summed over."""
    scale = weight.square().mean().sqrt().item()
    sizes = sorted(scale * sqrt(each) for each in weight.shape[-2:])
    size = sizes[0] if sizes[0] > 1 else min(sizes[1], 1.0)
    constant = bool(scale) and min(weight.shape[-2:]) > 1
    constant = constant and bool((weight == weight.flatten()[0]).all())
    return Kernel(name, size, sizes[0], constant)
