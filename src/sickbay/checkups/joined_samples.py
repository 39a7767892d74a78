"""Inputs that hold several samples in one row, such as graphs and packed sequences."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from sickbay.model_copies import parts_of

GRAPH = "the rows of the input are parts of a graph"
PACKED = "the sequences are packed"
ROW = "the samples are joined in one row"
ONE_SAMPLE = "the batch is one sample, without a dimension for others"


def why_joined(given: Any, main: Tensor, inputs: Sequence[Tensor]) -> str:
    """Return why single samples cannot be taken out of a batch, "" if they can.

    >>> rows, two_graphs = torch.rand(5, 3), torch.tensor([0, 0, 0, 1, 1])
    >>> why_joined((rows, two_graphs), rows, [rows, two_graphs])
    'the rows of the input are parts of a graph'
    >>> text, starts = torch.tensor([5, 7, 5, 2]), torch.tensor([0, 3])
    >>> why_joined((text, starts), text, [text, starts])
    'the samples are joined in one row'
    """
    if _holds_packed(given):
        return PACKED
    if any(_is_graph_data(each) for each in given):
        return GRAPH
    others = [each for each in inputs if each is not main]
    if any(each.layout != torch.strided or is_square_graph(each, main) for each in others):
        return GRAPH
    if any(_numbers_graphs(each, main) or _is_edges(each, main) for each in others):
        return GRAPH
    return ROW if any(_starts_samples(each, main) for each in others) else ""


def graph_numbers(main: Tensor, inputs: Sequence[Tensor]) -> Tensor | None:
    """Return the input that says for each row to which graph it belongs, None if there is none."""
    others = (each for each in inputs if each is not main)
    return next((each for each in others if _numbers_graphs(each, main)), None)


def is_one_sample(main: Tensor, targets: Tensor | None) -> bool:
    """Return whether a row of values has a single target, so that no dimension counts samples.

    >>> is_one_sample(torch.rand(4), torch.tensor(1)), is_one_sample(torch.rand(4), torch.ones(4))
    (True, False)
    """
    return main.ndim == 1 and targets is not None and not targets.ndim


def is_square_graph(value: Tensor, main: Tensor) -> bool:
    """Return whether a tensor has a value for each pair of rows of a table, as neighbours do.

    A causal mask is no graph, though it may be as long as the batch.
    """
    rows = main.shape[:1].numel()
    if tuple(value.shape) != (rows, rows) or main.ndim > 2 or value.layout != torch.strided:
        return False
    if main.ndim == 2 and not main.is_floating_point():
        return False
    links = bool((value >= 0).all()) or torch.equal(value, value.T)
    return links and not _is_causal(value)


def _is_causal(square: Tensor) -> bool:
    """Return whether a square has one value below its diagonal and another one above."""
    lower = torch.ones_like(square, dtype=torch.bool).tril(-1)
    below, above = square[lower], square[lower.T]
    alike = bool((below == below[:1]).all() and (above == above[:1]).all())
    return alike and not torch.equal(below[:1], above[:1])


def _holds_packed(value: Any) -> bool:
    if isinstance(value, PackedSequence):
        return True
    parts = value if isinstance(value, tuple | list) else parts_of(value).values()
    return not isinstance(value, Tensor) and any(map(_holds_packed, parts))


def _is_graph_data(value: Any) -> bool:
    return "edge_index" in parts_of(value) or {"pos", "batch"} <= set(parts_of(value))


def _is_edges(value: Tensor, main: Tensor) -> bool:
    """Return whether a tensor lists edges as pairs of rows."""
    whole = not value.is_floating_point()
    return whole and value.ndim == 2 and value.shape[0] == 2 != main.shape[:1].numel()


def _numbers_graphs(value: Tensor, main: Tensor) -> bool:
    """Return whether a tensor says for each row to which graph it belongs: 0, 0, 0, 1, 1, ..."""
    if not _counts_up(value) or value.shape != main.shape[:1] or len(value) < 3:
        return False
    steps = value.diff()
    return int(steps.max()) == 1 and int(value[-1]) < len(value) // 2


def _starts_samples(value: Tensor, main: Tensor) -> bool:
    """Return whether a tensor holds the places where samples start in a row: 0, 4, 9, ..."""
    if not _counts_up(value) or value.shape == main.shape[:1] or len(value) < 2:
        return False
    return int(value[-1]) <= len(main) and not bool((value.diff() == 1).all())


def _counts_up(value: Tensor) -> bool:
    """Return whether a tensor is a row of whole numbers from 0 that never fall."""
    if value.ndim != 1 or value.is_floating_point() or value.dtype == torch.bool or not len(value):
        return False
    return int(value[0]) == 0 and bool((value.diff() >= 0).all())
