"""One read of many tensors that lie anywhere on a device, and what is made of it; in Triton.

`read` takes a chunk of a tensor a program and leaves sums of it; `merge` makes the statistics of
each tensor of those, in double precision. Non-finite values are told by their exponent bits, and
counted and left out.
"""

from __future__ import annotations

import triton
import triton.language as tl

BLOCK = 512  # values a program holds at a time; more would not fit into its registers
UNROLL = 4  # of them in a row, so that more is on its way
PROBE = 256  # values of a chunk that its pivot and its unit are taken from
PARTS = 11  # numbers that are left of a chunk
SAMPLE = 512  # values of a tensor that its quartiles are taken from
KEPT = 256  # values of a tensor that are kept, to tell how far it moves
SEVERAL = 128  # chunks that are merged at a time
COLUMNS = 18  # statistics of a tensor
COLUMNS_ = tl.constexpr(COLUMNS)
PARTS_ = tl.constexpr(PARTS)
SAMPLE_ = tl.constexpr(SAMPLE)
KEPT_ = tl.constexpr(KEPT)
PROBE_ = tl.constexpr(PROBE)
INF = tl.constexpr(float("inf"))
EXPONENT = tl.constexpr(0x7F800000)
FAR = tl.constexpr(2.0**20)  # times the unit, above and below which fourth powers may be lost


@triton.jit
def is_number(x):
    """Tell which values are finite, by their exponent bits."""
    return (x.to(tl.int32, bitcast=True) & EXPONENT) != EXPONENT


@triton.jit
def values_at(address, kind, places, inside):
    """Return values in single precision; `kind` is 0 for float32, 1 for bfloat16, 2 for float16."""
    if kind == 0:
        x = tl.load(address.to(tl.pointer_type(tl.float32)) + places, inside, other=0.0)
    elif kind == 1:
        brain = tl.load(address.to(tl.pointer_type(tl.bfloat16)) + places, inside, other=0.0)
        x = brain.to(tl.float32)
    else:
        half = tl.load(address.to(tl.pointer_type(tl.float16)) + places, inside, other=0.0)
        x = half.to(tl.float32)
    return x


@triton.jit
def unit_of(spread):
    """Return the power of two next to a spread, 1 if there is none, and its inverse."""
    bits = spread.to(tl.int32, bitcast=True) & EXPONENT
    bits = tl.where(spread > 0, bits, 127 << 23)
    bits = tl.minimum(tl.maximum(bits, 1 << 23), 253 << 23)
    unit = bits.to(tl.float32, bitcast=True)
    return unit, ((254 << 23) - bits).to(tl.float32, bitcast=True)


@triton.jit
def pivot_and_unit(address, kind, first, last):
    """Return a value near the mean of a chunk, and the power of two next to its spread."""
    apart = tl.maximum((last - first) // PROBE_, 1)
    places = first + tl.arange(0, PROBE_).to(tl.int64) * apart
    inside = places < last
    x = values_at(address, kind, places, inside)
    sound = inside & is_number(x)
    x = tl.where(sound, x, 0.0)
    pivot = tl.sum(x) / tl.maximum(tl.sum(sound.to(tl.float32)), 1.0)
    pivot = tl.where(is_number(pivot), pivot, 0.0)
    unit, inverse = unit_of(tl.max(tl.where(sound, tl.abs(x - pivot), 0.0)))
    return pivot, unit, inverse


@triton.jit
def careful_sums(pointer, first, last, pivot, inverse, block: tl.constexpr):
    """Return the sums of any values; what is not finite is counted and left out."""
    p1 = tl.zeros([block], tl.float32)
    p2 = tl.zeros([block], tl.float32)
    p3 = tl.zeros([block], tl.float32)
    p4 = tl.zeros([block], tl.float32)
    low = tl.full([block], INF, tl.float32)
    high = tl.full([block], -INF, tl.float32)
    zeros = tl.zeros([block], tl.int32)
    lost = tl.zeros([block], tl.int32)
    for start in range(first, last, block):
        places = start + tl.arange(0, block)
        inside = places < last
        x = tl.load(pointer + places, inside, other=0.0).to(tl.float32)
        sound = inside & is_number(x)
        lost += (inside & ~is_number(x)).to(tl.int32)
        zeros += (inside & (x == 0.0)).to(tl.int32)
        low = tl.minimum(low, tl.where(sound, x, INF))
        high = tl.maximum(high, tl.where(sound, x, -INF))
        d = tl.where(sound, (x - pivot) * inverse, 0.0)
        square = d * d
        p1 += d
        p2 += square
        p3 += square * d
        p4 += square * square
    return (
        tl.sum(p1), tl.sum(p2), tl.sum(p3), tl.sum(p4), tl.sum(zeros), tl.sum(lost), tl.min(low),
        tl.max(high),
    )  # fmt: skip


@triton.jit
def quick_sums(
    pointer, first, last, pivot, inverse, block: tl.constexpr, unroll: tl.constexpr,
    aligned: tl.constexpr,
):  # fmt: skip
    """Return the sums of values that are all finite and fill whole blocks."""
    p1 = tl.zeros([block], tl.float32)
    p2 = tl.zeros([block], tl.float32)
    p3 = tl.zeros([block], tl.float32)
    p4 = tl.zeros([block], tl.float32)
    low = tl.full([block], INF, tl.float32)
    high = tl.full([block], -INF, tl.float32)
    zeros = tl.zeros([block], tl.int32)
    lanes = tl.arange(0, block)
    if aligned:
        pointer = tl.multiple_of(pointer, 16)
    for start in range(first, last, block * unroll):
        if aligned:
            start = tl.multiple_of(start, block)
        for turn in tl.static_range(unroll):
            x = tl.load(pointer + start + (turn * block + lanes)).to(tl.float32)
            d = (x - pivot) * inverse
            square = d * d
            p1 += d
            p2 += square
            p3 += square * d
            p4 += square * square
            zeros += (x == 0.0).to(tl.int32)
            low = tl.minimum(low, x)
            high = tl.maximum(high, x)
    return (
        tl.sum(p1), tl.sum(p2), tl.sum(p3), tl.sum(p4), tl.sum(zeros), tl.min(low), tl.max(high)
    )  # fmt: skip


@triton.jit
def sums(
    pointer, first, last, pivot, unit, inverse, block: tl.constexpr, unroll: tl.constexpr,
    aligned: tl.constexpr,
):  # fmt: skip
    """Return the sums of a chunk, and their unit: quickly, and once more with care if need be.

    That is if not all was finite, or if the unit was so far off that powers are lost.
    """
    middle = first + (last - first) // (block * unroll) * (block * unroll)
    p1, p2, p3, p4, zeros, lost, low, high = careful_sums(
        pointer, middle, last, pivot, inverse, block
    )
    if middle > first:
        q1, q2, q3, q4, none, least, most = quick_sums(
            pointer, first, middle, pivot, inverse, block, unroll, aligned
        )
        if is_number(q4):
            p1 += q1
            p2 += q2
            p3 += q3
            p4 += q4
            zeros += none
            low = tl.minimum(low, least)
            high = tl.maximum(high, most)
        else:
            p1, p2, p3, p4, zeros, lost, low, high = careful_sums(
                pointer, first, last, pivot, inverse, block
            )
    spread = tl.maximum(high - pivot, pivot - low)
    size = spread * inverse
    if (spread > 0) & ((size > FAR) | (size < 1 / FAR)):
        unit, inverse = unit_of(spread)
        p1, p2, p3, p4, zeros, lost, low, high = careful_sums(
            pointer, first, last, pivot, inverse, block
        )
    return p1, p2, p3, p4, zeros, lost, low, high, unit


@triton.jit
def read(
    addresses, sizes, kinds, owners, begins, parts, chunk, block: tl.constexpr,
    unroll: tl.constexpr, aligned: tl.constexpr,
):  # fmt: skip
    """Leave sums of one chunk of one tensor."""
    program = tl.program_id(0)
    tensor = tl.load(owners + program)
    first = (program - tl.load(begins + tensor)).to(tl.int64) * chunk
    address = tl.load(addresses + tensor)
    kind = tl.load(kinds + tensor)
    last = tl.minimum(first + chunk, tl.load(sizes + tensor))
    pivot, unit, inverse = pivot_and_unit(address, kind, first, last)
    if kind == 0:
        p1, p2, p3, p4, zeros, lost, low, high, unit = sums(
            address.to(tl.pointer_type(tl.float32)), first, last, pivot, unit, inverse,
            block, unroll, aligned,
        )  # fmt: skip
    elif kind == 1:
        p1, p2, p3, p4, zeros, lost, low, high, unit = sums(
            address.to(tl.pointer_type(tl.bfloat16)), first, last, pivot, unit, inverse,
            block, unroll, aligned,
        )  # fmt: skip
    else:
        p1, p2, p3, p4, zeros, lost, low, high, unit = sums(
            address.to(tl.pointer_type(tl.float16)), first, last, pivot, unit, inverse,
            block, unroll, aligned,
        )  # fmt: skip
    out = parts + program * PARTS_
    tl.store(out, (last - first - lost).to(tl.float32))
    tl.store(out + 1, pivot)
    tl.store(out + 2, p1)
    tl.store(out + 3, p2)
    tl.store(out + 4, p3)
    tl.store(out + 5, p4)
    tl.store(out + 6, zeros.to(tl.float32))
    tl.store(out + 7, lost.to(tl.float32))
    tl.store(out + 8, low)
    tl.store(out + 9, high)
    tl.store(out + 10, unit)


@triton.jit
def sample_places(size, jitter, count: tl.constexpr):
    """Return where a tensor is sampled: one place in each of equal strata; all if it is small."""
    lanes = tl.arange(0, count)
    spread = (lanes.to(tl.float64) + tl.load(jitter + lanes).to(tl.float64)) * (size / count)
    return tl.where(size > count, spread.to(tl.int64), lanes.to(tl.int64))


@triton.jit
def ordered_pick(ordered, place):
    """Return what lies between two neighbours of an ordered sample."""
    lanes = tl.arange(0, SAMPLE_)
    below = tl.floor(place).to(tl.int32)
    left = tl.sum(tl.where(lanes == below, ordered, 0.0)).to(tl.float64)
    right = tl.sum(tl.where(lanes == below + 1, ordered, 0.0)).to(tl.float64)
    weight = place - below
    return tl.where(weight > 0, left + (right - left) * weight, left)


@triton.jit
def merge(
    addresses,
    sizes,
    kinds,
    begins,
    parts,
    jitter,
    scale,
    kept,
    table,
    several: tl.constexpr,
    keep: tl.constexpr,
):
    """Write the statistics of one tensor, made of the sums of its chunks and of a sample."""
    tensor = tl.program_id(0)
    begin = tl.load(begins + tensor)
    end = tl.load(begins + tensor + 1)
    lanes = tl.arange(0, several)
    count = tl.zeros([several], tl.float64)
    total = tl.zeros([several], tl.float64)
    zeros = tl.zeros([several], tl.float64)
    lost = tl.zeros([several], tl.float64)
    low = tl.full([several], INF, tl.float32)
    high = tl.full([several], -INF, tl.float32)
    for start in range(begin, end, several):
        inside = start + lanes < end
        at = parts + (start + lanes) * PARTS_
        n = tl.load(at, inside, other=0.0).to(tl.float64)
        unit = tl.load(at + 10, inside, other=0.0).to(tl.float64)
        count += n
        total += n * tl.load(at + 1, inside, other=0.0).to(tl.float64)
        total += unit * tl.load(at + 2, inside, other=0.0).to(tl.float64)
        zeros += tl.load(at + 6, inside, other=0.0).to(tl.float64)
        lost += tl.load(at + 7, inside, other=0.0).to(tl.float64)
        low = tl.minimum(low, tl.load(at + 8, inside, other=INF))
        high = tl.maximum(high, tl.load(at + 9, inside, other=-INF))
    number = tl.sum(count)
    some = tl.maximum(number, 1.0)
    mean = tl.sum(total) / some
    m2 = tl.zeros([several], tl.float64)
    m3 = tl.zeros([several], tl.float64)
    m4 = tl.zeros([several], tl.float64)
    for start in range(begin, end, several):
        inside = start + lanes < end
        at = parts + (start + lanes) * PARTS_
        n = tl.load(at, inside, other=0.0).to(tl.float64)
        unit = tl.load(at + 10, inside, other=0.0).to(tl.float64)
        d = tl.load(at + 1, inside, other=0.0).to(tl.float64) - mean
        p1 = tl.load(at + 2, inside, other=0.0).to(tl.float64) * unit
        p2 = tl.load(at + 3, inside, other=0.0).to(tl.float64) * unit * unit
        p3 = tl.load(at + 4, inside, other=0.0).to(tl.float64) * unit * unit * unit
        p4 = tl.load(at + 5, inside, other=0.0).to(tl.float64) * unit * unit * unit * unit
        nd = n * d
        m2 += p2 + d * (2 * p1 + nd)
        m3 += p3 + d * (3 * (p2 + d * p1) + d * nd)
        m4 += p4 + d * (4 * p3 + d * (6 * p2 + d * (4 * p1 + nd)))
    least = tl.min(low).to(tl.float64)
    most = tl.max(high).to(tl.float64)
    second = tl.sum(m2) / some
    varies = (least < most) & (second > 0)
    second = tl.where(varies, second, 0.0)
    safe = tl.where(varies, second, 1.0)
    skewness = tl.where(varies, tl.sum(m3) / some / (safe * tl.sqrt(safe)), INF - INF)
    kurtosis = tl.where(varies, tl.sum(m4) / some / (safe * safe) - 3, INF - INF)

    size = tl.load(sizes + tensor)
    within = tl.arange(0, SAMPLE_) < size
    address = tl.load(addresses + tensor)
    kind = tl.load(kinds + tensor)
    x = values_at(address, kind, sample_places(size, jitter, SAMPLE_), within)
    if keep:
        row = tl.arange(0, KEPT_)
        few = values_at(address, kind, sample_places(size, jitter, KEPT_), row < size)
        tl.store(kept + tensor * KEPT_ + row, few, row < size)
    sound = within & is_number(x)
    there = tl.sum(sound.to(tl.float64))
    mean_abs = tl.sum(tl.where(sound, tl.abs(x).to(tl.float64), 0.0)) / tl.maximum(there, 1.0)
    ordered = tl.sort(tl.where(sound, x, INF))
    ordered = tl.where(tl.arange(0, SAMPLE_) < there, ordered, 0.0)
    far = tl.maximum(there - 1, 0.0)

    factor = tl.load(scale).to(tl.float64)
    empty = number == 0
    out = table + tensor * COLUMNS_
    tl.store(out, number)
    tl.store(out + 1, tl.where(empty, 0.0, factor * tl.sqrt(some * (second + mean * mean))))
    tl.store(out + 2, tl.where(empty, INF - INF, factor * tl.maximum(most, -least)))
    tl.store(out + 3, tl.where(empty, INF - INF, factor * mean))
    tl.store(out + 4, tl.where(empty, INF - INF, factor * factor * second))
    tl.store(out + 5, tl.where(empty, INF - INF, factor * least))
    none = there == 0
    tl.store(out + 6, tl.where(none, INF - INF, factor * ordered_pick(ordered, far * 0.25)))
    tl.store(out + 7, tl.where(none, INF - INF, factor * ordered_pick(ordered, far * 0.5)))
    tl.store(out + 8, tl.where(none, INF - INF, factor * ordered_pick(ordered, far * 0.75)))
    tl.store(out + 9, tl.where(empty, INF - INF, factor * most))
    tl.store(out + 10, skewness)
    tl.store(out + 11, kurtosis)
    tl.store(out + 12, tl.where(empty, INF - INF, tl.sum(zeros) / some))
    tl.store(out + 13, tl.sum(lost))
    tl.store(out + 14, INF - INF)
    tl.store(out + 15, INF - INF)
    tl.store(out + 16, tl.where(none, INF - INF, factor * mean_abs))
    tl.store(out + 17, INF - INF)


@triton.jit
def moved(addresses, sizes, kinds, jitter, kept, table):
    """Write how far a tensor has moved since its sample was kept, as a share of its length."""
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
