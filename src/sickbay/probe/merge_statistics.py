"""Sum short rows of values, and merge the sums exactly into the statistics of whole tensors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sickbay.probe.cache_blocks import Block, Buffers
from sickbay.vitals import COLUMN, STATISTICS, Numbers

# The sums of a row: its count; a pivot near its mean, and the sums of the first four powers of the
# distance from it, in units of 2**EXPONENT; the counts of zeros, and of NaN and Inf; its extremes.
COUNT, PIVOT, POWER1, POWER2, POWER3, POWER4, ZEROS, LOST, LOW, HIGH, EXPONENT = range(11)
PARTS = 11
SCALED = [COLUMN[name] for name in ("norm", "absmax", "mean", "minimum", "lower_quartile")]
SCALED += [COLUMN[name] for name in ("median", "upper_quartile", "maximum", "mean_abs")]

# Outside these bounds the fourth power of a value would leave the range of the number format.
SAFE = {np.dtype("float32"): (1e-8, 1e8), np.dtype("float64"): (1e-70, 1e70)}
CENTRED = 0.9  # rows are centred if their mean makes up more than this share of their mean square


@dataclass(frozen=True)
class Groups:
    """Which rows belong to each tensor: the first of them, and how many."""

    first: NDArray[np.integer]
    heights: NDArray[np.integer]

    def sum(self, rows: Numbers) -> Numbers:
        return np.add.reduceat(rows, self.first, axis=-1)

    def spread(self, values: Numbers) -> Numbers:
        return np.repeat(values, self.heights)


def sum_rows(block: Block, buffers: Buffers, parts: Numbers) -> bool:
    """Sum each row of a block into `parts`; return whether any row is out of the ordinary."""
    flat, height = buffers.flat, len(block.counts)
    values, work = buffers.values[:height], buffers.work[:height]
    mask, ones = buffers.mask[:height], buffers.ones[:height]
    least, most = SAFE[flat.dtype]
    parts[COUNT] = block.counts
    parts[LOW] = np.minimum.reduceat(flat, block.edges)[::2]
    parts[HIGH] = np.maximum.reduceat(flat, block.edges)[::2]
    np.equal(values, 0, out=mask)
    parts[ZEROS : LOST + 1] = parts[EXPONENT] = parts[PIVOT] = 0
    if np.count_nonzero(mask) > block.short:  # counting all at once is faster
        parts[ZEROS, block.starts] = [np.count_nonzero(piece) for piece in block.masks]
    largest = np.maximum(parts[HIGH], -parts[LOW])
    spoilt = None
    odd = not (  # also true for NaN
        largest.min() >= least and largest.max() <= most and (parts[LOW] < parts[HIGH]).all()
    )
    if odd:
        if not np.isfinite(largest).all():
            spoilt = _leave_out_nonfinite(values, block.edges, parts)
        size = np.maximum(parts[HIGH], -parts[LOW])
        _rescale(values, parts, np.where(size > 0, size, 0))
    parts[POWER1] = _dot(values, ones)
    parts[POWER2] = _dot(values, values)
    if (parts[POWER1] ** 2 > CENTRED * parts[COUNT] * parts[POWER2]).any():
        parts[PIVOT] = pivot = (parts[POWER1] / np.maximum(parts[COUNT], 1)).astype(values.dtype)
        np.subtract(values, pivot[:, None], out=values)
        block.clear_padding()
        if spoilt is not None:
            values[spoilt] = 0
        spread = np.ldexp(parts[HIGH] - parts[LOW], -parts[EXPONENT].astype(np.int64))
        if (spread[spread > 0] < least).any():
            _rescale(values, parts, np.where(spread > 0, spread, 1))
            odd = True
        parts[POWER1] = _dot(values, ones)
        parts[POWER2] = _dot(values, values)
    np.multiply(values, values, out=work)
    parts[POWER3] = _dot(work, values)
    parts[POWER4] = _dot(work, work)
    return odd


def _dot(left: NDArray[np.floating], right: NDArray[np.floating]) -> NDArray[np.floating]:
    """Multiply rows with rows: one small product each, so that BLAS starts no threads."""
    product: NDArray[np.floating] = np.matmul(left[:, None, :], right[:, :, None])
    return product[:, 0, 0]


_dot = getattr(np, "vecdot", _dot)  # the same, but faster, in numpy 2


def _leave_out_nonfinite(
    values: NDArray[np.floating], edges: NDArray[np.integer], parts: Numbers
) -> NDArray[np.bool_]:
    """Count NaN and Inf in each row, set them to 0, and return where they were."""
    spoilt: NDArray[np.bool_] = ~np.isfinite(values)
    lost = spoilt.sum(1)
    values[spoilt] = 0
    counts = edges[1::2] - edges[::2]
    outside = spoilt | (np.arange(values.shape[1]) >= counts[:, None])
    parts[LOW] = np.where(outside, np.inf, values).min(1)
    parts[HIGH] = np.where(outside, -np.inf, values).max(1)
    parts[COUNT] -= lost
    parts[LOST] = lost
    return spoilt


def _rescale(values: NDArray[np.floating], parts: Numbers, size: Numbers) -> None:
    """Divide every row by the power of two near its size, so that nothing is rounded.

    Rows of size 0 are divided by the smallest power.
    """
    limit = np.finfo(values.dtype).maxexp - 2
    exponent = np.where(size > 0, np.clip(np.frexp(size)[1], -limit, limit), -limit)
    np.ldexp(values, -exponent[:, None], out=values)
    parts[PIVOT] = np.ldexp(parts[PIVOT], -exponent)
    parts[EXPONENT] += exponent


def finish(parts: Numbers, groups: Groups, quartiles: Numbers, odd: bool = True) -> Numbers:
    """Merge the rows of each tensor into its statistics.

    `odd` says that rows may be constant, empty, or in units of their own.
    """
    result = np.full((len(STATISTICS), len(groups.first)), np.nan)
    count, norm, absmax, mean, variance, low, _, _, _, high, skewness, kurtosis = result[:12]
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


def _in_one_unit(parts: Numbers, groups: Groups) -> tuple[Numbers, Numbers]:
    """Convert all rows of a tensor to the unit of its largest row."""
    exponent = np.maximum.reduceat(parts[EXPONENT], groups.first)
    shrink = np.exp2(parts[EXPONENT] - groups.spread(exponent))
    parts = parts.copy()
    parts[PIVOT] *= shrink
    for power, part in enumerate(range(POWER1, POWER4 + 1), start=1):
        parts[part] *= shrink**power
    return parts, np.exp2(exponent)
