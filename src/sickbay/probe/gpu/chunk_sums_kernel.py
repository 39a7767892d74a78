"""A Triton kernel that reads many tensors once, wherever they lie on a device.

Each program sums one chunk of a tensor. It counts NaN and Inf, and leaves them out of the sums.
"""

from __future__ import annotations

import triton
import triton.language as tl

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
    ZEROS,
)

BLOCK = 512  # values a program holds at a time; more would not fit into its registers
UNROLL = 4  # blocks loaded in a row, to keep more loads in flight
PARTS_ = tl.constexpr(PARTS)  # numbers written for each chunk, in the order of `row_sums`
COUNT_, PIVOT_, ZEROS_, LOST_ = map(tl.constexpr, (COUNT, PIVOT, ZEROS, LOST))
POWER1_, POWER2_ = map(tl.constexpr, (POWER1, POWER2))
POWER3_, POWER4_ = map(tl.constexpr, (POWER3, POWER4))
LOW_, HIGH_, UNIT_ = map(tl.constexpr, (LOW, HIGH, EXPONENT))  # the unit itself, not its exponent
PROBE_ = tl.constexpr(256)  # values of a chunk that its pivot and its unit are taken from
FAR = tl.constexpr(2.0**20)  # beyond this many units, or below 1 / FAR, fourth powers get lost
INF = tl.constexpr(float("inf"))
EXPONENT_BITS = tl.constexpr(0x7F800000)


@triton.jit
def is_number(x):
    """Tell which values are finite, by their exponent bits."""
    return (x.to(tl.int32, bitcast=True) & EXPONENT_BITS) != EXPONENT_BITS


@triton.jit
def values_at(address, kind, places, inside):
    """Load values in single precision; `kind` is 0 for float32, 1 for bfloat16, 2 for float16."""
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
    """Return the power of two nearest to a spread, 1 for a spread of 0, and its inverse."""
    bits = spread.to(tl.int32, bitcast=True) & EXPONENT_BITS
    bits = tl.where(spread > 0, bits, 127 << 23)
    bits = tl.minimum(tl.maximum(bits, 1 << 23), 253 << 23)
    unit = bits.to(tl.float32, bitcast=True)
    return unit, ((254 << 23) - bits).to(tl.float32, bitcast=True)


@triton.jit
def pivot_and_unit(address, kind, first, last):
    """Return a value near the mean of a chunk, and the power of two nearest to its spread."""
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
def empty_sums(block: tl.constexpr):
    """Return the start of the sums, lane by lane: four powers, zeros, minimum and maximum."""
    none = tl.zeros([block], tl.float32)
    low = tl.full([block], INF, tl.float32)
    return none, none, none, none, tl.zeros([block], tl.int32), low, -low


@triton.jit
def add_powers(p1, p2, p3, p4, d):
    """Add one value to the sums of powers."""
    square = d * d
    return p1 + d, p2 + square, p3 + square * d, p4 + square * square


@triton.jit
def careful_sums(pointer, first, last, pivot, inverse, block: tl.constexpr):
    """Sum any values; count those that are not finite and leave them out."""
    p1, p2, p3, p4, zeros, low, high = empty_sums(block)
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
        p1, p2, p3, p4 = add_powers(p1, p2, p3, p4, d)
    return (
        tl.sum(p1), tl.sum(p2), tl.sum(p3), tl.sum(p4), tl.sum(zeros), tl.sum(lost), tl.min(low),
        tl.max(high),
    )  # fmt: skip


@triton.jit
def quick_sums(
    pointer, first, last, pivot, inverse, block: tl.constexpr, unroll: tl.constexpr,
    aligned: tl.constexpr,
):  # fmt: skip
    """Sum values that fill whole blocks, assuming that all are finite."""
    p1, p2, p3, p4, zeros, low, high = empty_sums(block)
    lanes = tl.arange(0, block)
    if aligned:
        pointer = tl.multiple_of(pointer, 16)
    for start in range(first, last, block * unroll):
        if aligned:
            start = tl.multiple_of(start, block)
        for turn in tl.static_range(unroll):
            x = tl.load(pointer + start + (turn * block + lanes)).to(tl.float32)
            p1, p2, p3, p4 = add_powers(p1, p2, p3, p4, (x - pivot) * inverse)
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
    """Return the sums of a chunk and their unit.

    Sum again with care if a value was not finite, or if the unit was so far off that powers of the
    values got lost.
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
    """Write the sums of one chunk of one tensor."""
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
    tl.store(out + COUNT_, (last - first - lost).to(tl.float32))
    tl.store(out + PIVOT_, pivot)
    tl.store(out + POWER1_, p1)
    tl.store(out + POWER2_, p2)
    tl.store(out + POWER3_, p3)
    tl.store(out + POWER4_, p4)
    tl.store(out + ZEROS_, zeros.to(tl.float32))
    tl.store(out + LOST_, lost.to(tl.float32))
    tl.store(out + LOW_, low)
    tl.store(out + HIGH_, high)
    tl.store(out + UNIT_, unit)
