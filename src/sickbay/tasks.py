"""What is known about each loss, and inferring the task from the targets, outputs and loss."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Task = Literal["", "binary", "multiclass", "multilabel", "regression", "next_token"]
TASKS: tuple[Task, ...] = get_args(Task)
OF_ONE_CLASS = ("multiclass", "next_token")  # tasks whose targets are often class numbers

OF_CLASSES = ("cross_entropy", "nll", "multi_margin", "kl_div")  # one of several classes
OF_ANSWERS = ("bce", "bce_logits", "soft_margin", "multilabel_margin")  # yes-or-no answers
DISTANCES = ("mse", "l1", "smooth_l1", "huber")  # between numbers
BROADCAST = (*DISTANCES, "poisson_nll")  # outputs and targets are broadcast to one shape
APPLIES = {"cross_entropy": "softmax", "bce_logits": "sigmoid"}  # itself, so it takes logits


def infer(
    outputs: Sequence[int],
    targets: NDArray[np.floating | np.integer] | None = None,
    *,
    loss: str = "",
    tokens: bool = False,
) -> Task:
    """Return the task, "" if it cannot be inferred.

    `outputs` is the shape of the output. Only the first dimension of `targets` may differ from the
    batch; without them the name of the loss decides. `tokens`: inputs are rows of whole numbers.

    >>> infer((32, 10), np.array([3, 1, 9])), infer((32, 1), np.array([[0.0], [1.0], [1.0]]))
    ('multiclass', 'binary')
    >>> infer((32, 3), np.array([[1, 0, 1], [0, 0, 1]])), infer((32, 1), np.array([[0.3], [2.0]]))
    ('multilabel', 'regression')
    >>> infer((640, 65), np.array([12, 7, 40]), tokens=True)
    'next_token'
    """
    if targets is None or not targets.size:
        return _by_loss(outputs, loss, tokens)
    numbers = np.issubdtype(targets.dtype, np.integer) or loss == "nll"
    if numbers and targets.ndim == len(outputs) - 1 and outputs[-1] > 1:
        return "next_token" if tokens and outputs[-1] > 2 else "multiclass"  # -100 is no target
    targets = _rounded(targets)
    whole = bool(np.isfinite(targets).all() and (targets == np.round(targets)).all())
    two = bool(whole and len(np.unique(targets)) <= 2 and np.isin(targets, (-1, 0, 1)).all())
    width = outputs[-1] if targets.ndim == len(outputs) > 1 else 1
    if width > 1:
        return _by_rows(targets, two, loss)
    return "binary" if two else "regression"


def labels(targets: NDArray[np.floating | np.integer]) -> int:
    """Count the different whole numbers among the targets; 0 if some are not whole.

    >>> labels(np.array([0.0, 2.0, 1.0, 2.0])), labels(np.array([0.0, 0.5]))
    (3, 0)
    """
    different = np.unique(_rounded(targets))
    return len(different) if np.array_equal(different, np.round(different)) else 0


def _rounded(targets: NDArray[Any]) -> NDArray[Any]:
    """Round the targets if all are whole numbers up to rounding errors."""
    if not targets.size or not np.isfinite(targets).all():
        return targets
    near = np.round(targets)
    return near if np.abs(targets - near).max() < 1e-3 < np.abs(near).max() else targets


def _by_loss(outputs: Sequence[int], loss: str, tokens: bool) -> Task:
    if loss in OF_CLASSES:
        return "next_token" if tokens and outputs and outputs[-1] > 2 else "multiclass"
    if loss in OF_ANSWERS:
        return "multilabel" if len(outputs) > 1 and outputs[-1] > 1 else "binary"
    return ""


def _by_rows(targets: NDArray[np.floating | np.integer], two: bool, loss: str) -> Task:
    """Infer the task from targets with a value for every output."""
    sums = np.asarray(targets, float).sum(-1)
    shares = bool((targets >= 0).all() and np.allclose(sums, 1, atol=1e-3))
    if shares and (two or loss in OF_CLASSES):
        return "multiclass"
    return "multilabel" if two else "regression"
