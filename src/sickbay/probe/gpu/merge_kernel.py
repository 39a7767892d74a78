"""A Triton kernel that merges the sums of chunks into the statistics of each tensor."""

from __future__ import annotations

import triton
import triton.language as tl

from sickbay.probe.gpu.chunk_sums_kernel import (
    COUNT_,
    HIGH_,
    INF,
    LOST_,
    LOW_,
    PARTS_,
    PIVOT_,
    POWER1_,
    POWER2_,
    POWER3_,
    POWER4_,
    UNIT_,
    ZEROS_,
    is_number,
    values_at,
)
from sickbay.probe.row_sums import SAMPLE
from sickbay.vitals import COLUMN

KEPT = 256  # values of a tensor kept to measure its next update
SAMPLE_ = tl.constexpr(SAMPLE)
KEPT_ = tl.constexpr(KEPT)
SEVERAL = tl.constexpr(128)  # chunks merged at a time


def column(statistic: str) -> tl.constexpr:
    """Return the column of the table that a statistic is written to."""
    return tl.constexpr(COLUMN[statistic])


COLUMNS_ = tl.constexpr(len(COLUMN))
COUNT, ZEROS, NONFINITE = column("count"), column("zeros"), column("nonfinite")
NORM, ABSMAX, MEAN_ABS = column("norm"), column("absmax"), column("mean_abs")
MEAN, VARIANCE = column("mean"), column("variance")
SKEWNESS, KURTOSIS = column("skewness"), column("kurtosis")
MINIMUM, MEDIAN, MAXIMUM = column("minimum"), column("median"), column("maximum")
LOWER_QUARTILE, UPPER_QUARTILE = column("lower_quartile"), column("upper_quartile")


@triton.jit
def sample_places(size, jitter, count: tl.constexpr):
    """Return the places of a sample: one in each of equal strata, or all of a small tensor."""
    lanes = tl.arange(0, count)
    spread = (lanes.to(tl.float64) + tl.load(jitter + lanes).to(tl.float64)) * (size / count)
    return tl.where(size > count, spread.to(tl.int64), lanes.to(tl.int64))


@triton.jit
def part(parts, start, end, which: tl.constexpr, without: tl.constexpr):
    """Return one number of each of several chunks, `without` where there is no chunk."""
    chunks = start + tl.arange(0, SEVERAL)
    return tl.load(parts + chunks * PARTS_ + which, chunks < end, other=without).to(tl.float64)


@triton.jit
def totals(parts, begin, end):
    """Return the count of values, their sum, the counts of zeros and NaN or Inf, and extremes."""
    count = tl.zeros([SEVERAL], tl.float64)
    total = tl.zeros([SEVERAL], tl.float64)
    zeros = tl.zeros([SEVERAL], tl.float64)
    lost = tl.zeros([SEVERAL], tl.float64)
    low = tl.full([SEVERAL], INF, tl.float64)
    high = tl.full([SEVERAL], -INF, tl.float64)
    for start in range(begin, end, SEVERAL):
        n = part(parts, start, end, COUNT_, 0.0)
        unit = part(parts, start, end, UNIT_, 0.0)
        count += n
        pivots = n * part(parts, start, end, PIVOT_, 0.0)
        total += pivots + unit * part(parts, start, end, POWER1_, 0.0)
        zeros += part(parts, start, end, ZEROS_, 0.0)
        lost += part(parts, start, end, LOST_, 0.0)
        low = tl.minimum(low, part(parts, start, end, LOW_, INF))
        high = tl.maximum(high, part(parts, start, end, HIGH_, -INF))
    return tl.sum(count), tl.sum(total), tl.sum(zeros), tl.sum(lost), tl.min(low), tl.max(high)


@triton.jit
def moments(parts, begin, end, mean):
    """Return the sums of the second, third and fourth powers of the distances from the mean."""
    m2 = tl.zeros([SEVERAL], tl.float64)
    m3 = tl.zeros([SEVERAL], tl.float64)
    m4 = tl.zeros([SEVERAL], tl.float64)
    for start in range(begin, end, SEVERAL):
        unit = part(parts, start, end, UNIT_, 0.0)
        d = part(parts, start, end, PIVOT_, 0.0) - mean
        p1 = part(parts, start, end, POWER1_, 0.0) * unit
        p2 = part(parts, start, end, POWER2_, 0.0) * unit * unit
        p3 = part(parts, start, end, POWER3_, 0.0) * unit * unit * unit
        p4 = part(parts, start, end, POWER4_, 0.0) * unit * unit * unit * unit
        nd = part(parts, start, end, COUNT_, 0.0) * d
        m2 += p2 + d * (2 * p1 + nd)
        m3 += p3 + d * (3 * (p2 + d * p1) + d * nd)
        m4 += p4 + d * (4 * p3 + d * (6 * p2 + d * (4 * p1 + nd)))
    return tl.sum(m2), tl.sum(m3), tl.sum(m4)


@triton.jit
def interpolate(ordered, place):
    """Interpolate between two neighbours of an ordered sample."""
    lanes = tl.arange(0, SAMPLE_)
    below = tl.floor(place).to(tl.int32)
    left = tl.sum(tl.where(lanes == below, ordered, 0.0)).to(tl.float64)
    right = tl.sum(tl.where(lanes == below + 1, ordered, 0.0)).to(tl.float64)
    weight = place - below
    return tl.where(weight > 0, left + (right - left) * weight, left)


@triton.jit
def quartiles(x, sound):
    """Return the quartiles and the mean absolute value of a sample; NaN if nothing is finite."""
    there = tl.sum(sound.to(tl.float64))
    ordered = tl.sort(tl.where(sound, x, INF))
    ordered = tl.where(tl.arange(0, SAMPLE_) < there, ordered, 0.0)
    far = tl.maximum(there - 1, 0.0)
    none = tl.where(there == 0, INF - INF, 0.0)
    mean_abs = tl.sum(tl.where(sound, tl.abs(x).to(tl.float64), 0.0)) / tl.maximum(there, 1.0)
    return (
        none + interpolate(ordered, far * 0.25), none + interpolate(ordered, far * 0.5),
        none + interpolate(ordered, far * 0.75), none + mean_abs,
    )  # fmt: skip


@triton.jit
def merge(
    addresses, sizes, kinds, begins, parts, jitter, scale, kept, table, keep: tl.constexpr
):  # fmt: skip
    """Write the statistics of one tensor, from the sums of its chunks and from a sample.

    Columns that are not measured here keep the NaN that the table starts with.
    """
    tensor = tl.program_id(0)
    begin = tl.load(begins + tensor)
    end = tl.load(begins + tensor + 1)
    number, total, zeros, lost, least, most = totals(parts, begin, end)
    some = tl.maximum(number, 1.0)
    mean = total / some
    m2, m3, m4 = moments(parts, begin, end, mean)
    second = m2 / some
    varies = (least < most) & (second > 0)
    second = tl.where(varies, second, 0.0)
    safe = tl.where(varies, second, 1.0)

    size = tl.load(sizes + tensor)
    address = tl.load(addresses + tensor)
    kind = tl.load(kinds + tensor)
    if keep:
        row = tl.arange(0, KEPT_)
        few = values_at(address, kind, sample_places(size, jitter, KEPT_), row < size)
        tl.store(kept + tensor * KEPT_ + row, few, row < size)
    within = tl.arange(0, SAMPLE_) < size
    x = values_at(address, kind, sample_places(size, jitter, SAMPLE_), within)
    lower, median, upper, mean_abs = quartiles(x, within & is_number(x))

    factor = tl.load(scale).to(tl.float64)
    none = tl.where(number == 0, INF - INF, 0.0)
    out = table + tensor * COLUMNS_
    tl.store(out + COUNT, number)
    norm = factor * tl.sqrt(some * (second + mean * mean))
    tl.store(out + NORM, tl.where(number == 0, 0.0, norm))
    tl.store(out + ABSMAX, tl.where(number == 0, INF - INF, factor * tl.maximum(most, -least)))
    tl.store(out + MEAN, none + factor * mean)
    tl.store(out + VARIANCE, none + factor * factor * second)
    tl.store(out + MINIMUM, tl.where(number == 0, INF - INF, factor * least))
    tl.store(out + LOWER_QUARTILE, factor * lower)
    tl.store(out + MEDIAN, factor * median)
    tl.store(out + UPPER_QUARTILE, factor * upper)
    tl.store(out + MAXIMUM, tl.where(number == 0, INF - INF, factor * most))
    tl.store(out + SKEWNESS, tl.where(varies, m3 / some / (safe * tl.sqrt(safe)), INF - INF))
    tl.store(out + KURTOSIS, tl.where(varies, m4 / some / (safe * safe) - 3, INF - INF))
    tl.store(out + ZEROS, none + zeros / some)
    tl.store(out + NONFINITE, lost)
    tl.store(out + MEAN_ABS, factor * mean_abs)


@triton.jit
def moved(addresses, sizes, kinds, jitter, kept, table):
    """Write how far a tensor has moved since its sample was kept, relative to its norm."""
    tensor = tl.program_id(0)
    size = tl.load(sizes + tensor)
    lanes = tl.arange(0, KEPT_)
    within = lanes < size
    address = tl.load(addresses + tensor)
    x = values_at(address, tl.load(kinds + tensor), sample_places(size, jitter, KEPT_), within)
    x = x.to(tl.float64)
    before = tl.load(kept + tensor * KEPT_ + lanes, within, other=0.0).to(tl.float64)
    away = tl.sum(tl.where(within, (x - before) * (x - before), 0.0))
    length = tl.sum(tl.where(within, before * before, 0.0))
    some = tl.where(length > 0, length, 1.0)
    share = size / tl.maximum(tl.minimum(size, KEPT_), 1).to(tl.float64)
    tl.store(table + tensor * 3, tl.where(length > 0, tl.sqrt(away / some), INF - INF))
    tl.store(table + tensor * 3 + 1, away * share)
    tl.store(table + tensor * 3 + 2, length * share)
