"""Compute all statistics of many tensors in one pass over their values, and merge them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sickbay.probe.row_sums import (
    COUNT,
    EXPONENT,
    HIGH,
    LOST,
    LOW,
    PARTS,
    PIVOT,
    POWER1,
    POWER2,
    POWER3,
    POWER4,
    SAMPLE,
    ZEROS,
    Buffers,
    Shape,
    lay_out,
    rows_for,
    sum_rows,
)
from sickbay.vitals import COLUMN, STATISTICS, Numbers

NARROW = {torch.float32, torch.bfloat16, torch.float16}  # measured in single precision
FINISHED = [COLUMN[name] for name in ("count", "norm", "absmax", "mean", "variance")]
FINISHED += [COLUMN[name] for name in ("minimum", "maximum", "skewness", "kurtosis")]
SCALED = [COLUMN[name] for name in ("norm", "absmax", "mean", "minimum", "lower_quartile")]
SCALED += [COLUMN[name] for name in ("median", "upper_quartile", "maximum", "mean_abs")]

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


@dataclass(frozen=True)
class Groups:
    """Which rows belong to each tensor: the first of them, and how many."""

    first: NDArray[np.integer]
    heights: NDArray[np.integer]

    def sum(self, rows: Numbers) -> Numbers:
        return np.add.reduceat(rows, self.first, axis=-1)

    def spread(self, values: Numbers) -> Numbers:
        return np.repeat(values, self.heights)


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


def finish(parts: Numbers, groups: Groups, quartiles: Numbers, odd: bool = True) -> Numbers:
    """Merge the rows of each tensor into its statistics.

    `odd` says that rows may be constant, empty, or in units of their own.
    """
    result = np.full((len(STATISTICS), len(groups.first)), np.nan)
    count, norm, absmax, mean, variance, low, high, skewness, kurtosis = (
        result[column] for column in FINISHED
    )
    low[:] = np.minimum.reduceat(parts[LOW], groups.first)
    high[:] = np.maximum.reduceat(parts[HIGH], groups.first)
    np.maximum(high, -low, out=absmax)
    if odd:
        parts, unit = _in_one_unit(parts, groups)
    n, pivot, p1, p2, p3, p4 = parts[:ZEROS]
    work = np.empty((4, len(n)))
    work[0], work[1], work[2:] = n, n * pivot + p1, parts[ZEROS : LOST + 1]
    sums = groups.sum(work)
    count[:] = sums[0]
    np.divide(sums[1], count, out=mean)
    d = pivot - groups.spread(mean)
    nd = n * d
    work[1] = p2 + d * (2 * p1 + nd)
    work[2] = p3 + d * (3 * (p2 + d * p1) + d * nd)
    work[3] = p4 + d * (4 * p3 + d * (6 * p2 + d * (4 * p1 + nd)))
    _, m2, m3, m4 = groups.sum(work) / count
    if odd:
        constant = ~((low < high) & (m2 > 0))
        m2[constant] = 0
    variance[:] = m2
    np.sqrt(count * (m2 + mean * mean), out=norm)
    np.divide(m3, m2 * np.sqrt(m2), out=skewness)
    np.subtract(m4 / (m2 * m2), 3, out=kurtosis)
    result[COLUMN["lower_quartile"] : COLUMN["maximum"]] = quartiles.T
    np.divide(sums[2], count, out=result[COLUMN["zeros"]])
    result[COLUMN["nonfinite"]] = sums[3]
    if odd:
        for value in (norm, mean, variance, variance):  # one by one, since 0 * inf is NaN
            value *= unit
        skewness[constant] = kurtosis[constant] = np.nan
        norm[count == 0] = 0
        result[COLUMN["absmax"] : COLUMN["nonfinite"], count == 0] = np.nan
    table: Numbers = result.T
    return table


def _in_one_unit(parts: Numbers, groups: Groups) -> tuple[Numbers, Numbers]:
    """Convert all rows of a tensor to the unit of its largest row."""
    exponent = np.maximum.reduceat(parts[EXPONENT], groups.first)
    shrink = np.exp2(parts[EXPONENT] - groups.spread(exponent))
    parts = parts.copy()
    parts[PIVOT] *= shrink
    for power, part in enumerate(range(POWER1, POWER4 + 1), start=1):
        parts[part] *= shrink**power
    return parts, np.exp2(exponent)


def merge(rows: Numbers) -> Numbers:
    """Merge the statistics of several tensors into those of one; quartiles are averaged."""
    if len(rows) == 1:
        only: Numbers = rows[0]
        return only
    lost = rows[:, COLUMN["nonfinite"]].sum()
    rows = rows[rows[:, COLUMN["count"]] > 0]
    if not len(rows):
        nothing = np.full(len(STATISTICS), np.nan)
        nothing[[COLUMN["count"], COLUMN["norm"], COLUMN["nonfinite"]]] = 0, 0, lost
        return nothing
    get = {name: rows[:, index] for name, index in COLUMN.items()}
    count, variance = get["count"], get["variance"]
    parts = np.zeros((PARTS, len(rows)))
    parts[COUNT], parts[PIVOT] = count, get["mean"]
    parts[LOW], parts[HIGH] = get["minimum"], get["maximum"]
    parts[POWER2] = count * variance
    parts[POWER3] = count * variance**1.5 * np.nan_to_num(get["skewness"])
    parts[POWER4] = count * variance**2 * (np.nan_to_num(get["kurtosis"]) + 3)
    parts[ZEROS] = get["zeros"] * count
    weight = count / count.sum()
    quartiles = weight @ rows[:, COLUMN["lower_quartile"] : COLUMN["maximum"]]
    with np.errstate(all="ignore"):
        table = finish(parts, Groups(np.array([0]), np.array([len(rows)])), quartiles[None])
    for name in ("dead_units", "mean_abs", "lasting_dead"):
        table[0, COLUMN[name]] = weight @ get[name]
    table[0, COLUMN["nonfinite"]] = lost
    merged: Numbers = table[0]
    return merged


def scaled(values: Numbers, scale: float) -> Numbers:
    """Return the statistics as if every value had been multiplied by `scale`."""
    if scale != 1.0:
        values[:, SCALED] *= scale
        values[:, COLUMN["variance"]] *= scale * scale
    return values


def measured(**named: Sequence[Tensor | None]) -> dict[str, Numbers]:
    """Return a row for each name that has values, measured together because that is cheaper."""
    found = [
        (name, tensor)
        for name, tensors in named.items()
        for tensor in tensors
        if tensor is not None and tensor.numel()
    ]
    rows = measure([tensor for _, tensor in found])
    names = np.array([name for name, _ in found])
    return {name: merge(rows[names == name]) for name in named if name in names}
