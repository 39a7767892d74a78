"""Make torchvision load where its compiled operators do not, as beside a torch without CUDA.

PyPI has builds of torchvision for one CUDA version only. The architectures need no operator but
`nms`, which is written in Python here.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
kept: list[Any] = []  # an operator is gone when its library is


@cache
def prepare_torchvision() -> None:
    """Define the operators that `import torchvision` asks for, if nothing else does."""
    if find_spec("torchvision") is None:
        return
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        define_operators()
        from torchvision.ops import boxes

        boxes._assert_has_ops = lambda: None


def define_operators() -> None:
    library: Any = torch.library.Library
    kept.append(library("torchvision", "FRAGMENT"))
    for schema in SCHEMAS:
        kept[0].define(schema)
    kept[0].impl("nms", suppress_overlaps, "CPU")


def suppress_overlaps(boxes: Tensor, scores: Tensor, limit: float) -> Tensor:
    """Return the indices of boxes that overlap no better one by more than the limit.

    >>> boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    >>> suppress_overlaps(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist()
    [0, 2]
    """
    order = scores.argsort(descending=True)
    chosen = []
    while len(order):
        best, order = order[0], order[1:]
        chosen.append(best)
        order = order[overlaps(boxes[best], boxes[order]) <= limit]
    return torch.stack(chosen) if chosen else order


def overlaps(box: Tensor, others: Tensor) -> Tensor:
    """Return the intersection of a box with others, as a share of their union."""
    corner, opposite = torch.maximum(box[:2], others[:, :2]), torch.minimum(box[2:], others[:, 2:])
    shared = (opposite - corner).clamp(min=0).prod(1)
    return shared / (area(box[None]) + area(others) - shared)


def area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2:] - boxes[:, :2]).prod(1)
