"""Make torchvision load where its compiled operators do not, as beside a torch without CUDA.

PyPI has builds of torchvision for one CUDA version only. The architectures need no operator but
`nms`, which is written in Python here.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


@cache
def prepare_torchvision() -> None:
    """Define the operators that `import torchvision` asks for, if nothing else does."""
    if find_spec("torchvision") is None:
        return
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for schema in SCHEMAS:
            LIBRARY.define(schema)
        LIBRARY.impl("nms", suppress_overlaps, "CPU")
        from torchvision import extension

        extension._assert_has_ops = lambda: None


def suppress_overlaps(boxes: Tensor, scores: Tensor, limit: float) -> Tensor:
    """Return the indices of boxes that overlap no better one by more than the limit.

    >>> boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    >>> suppress_overlaps(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist()
    [0, 2]
    """
    order = scores.argsort(descending=True)
    kept = []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best)
        order = order[overlaps(boxes[best], boxes[order]) <= limit]
    return torch.stack(kept) if kept else order


def overlaps(box: Tensor, others: Tensor) -> Tensor:
    """Return the intersection of a box with others, as a share of their union."""
    corner, opposite = torch.maximum(box[:2], others[:, :2]), torch.minimum(box[2:], others[:, 2:])
    shared = (opposite - corner).clamp(min=0).prod(1)
    return shared / (area(box[None]) + area(others) - shared)


def area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2:] - boxes[:, :2]).prod(1)
