"""Compute all statistics of many tensors in one pass over their values."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sickbay.probe.cache_blocks import SAMPLE, Buffers, Shape, lay_out, rows_for
from sickbay.probe.merge_statistics import LOST, PARTS, Groups, finish, sum_rows
from sickbay.vitals import COLUMN, STATISTICS, Numbers

NARROW = {torch.float32, torch.bfloat16, torch.float16}  # measured in single precision

# The places below and above each quartile, and the weight of the latter.
Places = tuple[NDArray[np.intp], NDArray[np.intp], Numbers]

_lock = Lock()  # the buffers are shared


def measure(tensors: Sequence[Tensor]) -> Numbers:
    """Return a row of statistics for each tensor, in the order of `STATISTICS`.

    Tensors may have any device, dtype, layout and shape. NaN and Inf are counted, and left out of
    everything else. Only the stored values of a sparse tensor count. Quartiles and the mean
    absolute value come from a fixed sample of 512 values.

    >>> from sickbay.vitals import COLUMN
    >>> row = measure([torch.tensor([1.0, 2.0, 3.0, 0.0])])[0]
    >>> [float(row[COLUMN[name]]) for name in ("mean", "variance", "median", "zeros")]
    [1.5, 1.25, 1.5, 0.25]
    """
    if not tensors:
        return np.empty((0, len(STATISTICS)))
    with torch.no_grad(), _lock, np.errstate(all="ignore"):
        ready = [
            tensor
            if type(tensor) is Tensor and tensor.dtype in NARROW and tensor.layout is torch.strided
            else plain(tensor)
            for tensor in tensors
        ]
        wide = [tensor.dtype is torch.float64 for tensor in ready]
        if not any(wide):
            return _plan(tuple([tensor.shape for tensor in ready]), "float32").measure(ready)
        result = np.empty((len(ready), len(STATISTICS)))
        for precision in ("float32", "float64"):
            where = [index for index, each in enumerate(wide) if each is (precision == "float64")]
            if where:
                chosen = [ready[index] for index in where]
                plan = _plan(tuple([tensor.shape for tensor in chosen]), precision)
                result[where] = plan.measure(chosen)
        return result


def plain(tensor: Tensor) -> Tensor:
    """Return the values to measure as an ordinary dense tensor of floats."""
    if hasattr(tensor, "to_local"):  # a shard of a distributed tensor
        tensor = tensor.to_local()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    elif tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    tensor = tensor.detach()
    return tensor if tensor.dtype in NARROW or tensor.dtype is torch.float64 else tensor.float()


class _Plan:
    """How to measure tensors of given shapes. Created once, used at every reading."""

    @torch.inference_mode(False)  # else the buffers could be used in that mode only
    def __init__(self, shapes: Sequence[Shape], precision: str) -> None:
        self.buffers = _buffers(precision)
        self.blocks = lay_out(shapes, self.buffers)
        sizes = [prod(shape) for shape in shapes]
        rows = [rows_for(size) for size in sizes]
        self.groups = Groups(np.cumsum([0, *rows[:-1]]), np.array(rows))
        self.parts = np.zeros((PARTS, sum(rows)))
        self.sample = np.empty((len(shapes), SAMPLE), precision)
        self.sizes = np.minimum(sizes, SAMPLE)
        self.places = _places(self.sizes)
        self.empty = 0 in sizes
        self.split = {
            piece.tensor for block in self.blocks for piece in block.pieces if not piece.whole
        }

    def measure(self, tensors: Sequence[Tensor]) -> Numbers:
        odd = self.empty
        if self.split:
            tensors = list(tensors)
            for index in self.split:
                tensors[index] = tensors[index].reshape(-1)
        sample = self.sample.reshape(-1)
        for block in self.blocks:
            block.load(tensors)
            self.buffers.flat.take(block.picks, out=sample[block.sample], mode="clip")
            odd |= sum_rows(block, self.buffers, self.parts[:, block.rows])
        places, sizes = self.places, self.sizes
        if odd and self.parts[LOST].any():
            self.sample[~np.isfinite(self.sample)] = np.inf
            sizes = np.isfinite(self.sample).sum(1)
            places = _places(sizes)
        self.sample.sort(axis=1)
        table = finish(self.parts, self.groups, _quartiles(self.sample, places), odd)
        table[:, COLUMN["mean_abs"]] = _mean_abs(self.sample, sizes)
        return table


def _places(counts: NDArray[np.integer]) -> Places:
    """Return where the quartiles lie in each sorted row of the sample."""
    exact = np.maximum(counts - 1, 0)[:, None] * np.array([0.25, 0.5, 0.75])
    below, above = np.floor(exact).astype(np.intp), np.ceil(exact).astype(np.intp)
    first = np.arange(len(counts))[:, None] * SAMPLE
    return first + below, first + above, exact - below


def _quartiles(ordered: NDArray[np.floating], places: Places) -> Numbers:
    below, above, weight = places
    flat = ordered.reshape(-1)
    low = flat.take(below).astype(np.float64)
    return low + (flat.take(above) - low) * weight


def _mean_abs(sample: NDArray[np.floating], sizes: NDArray[np.integer]) -> Numbers:
    """Return the mean absolute value of each row; Inf fills the row behind its values."""
    values: Numbers = np.abs(sample) / sizes[:, None]  # divided first, as the sum may overflow
    if sizes.min() < SAMPLE:
        values[np.arange(SAMPLE) >= sizes[:, None]] = 0
    means: Numbers = values.sum(1)
    means[sizes == 0] = np.nan
    return means


_plan = lru_cache(maxsize=64)(_Plan)
_buffers = lru_cache(maxsize=2)(Buffers)
