"""One read of many tensors that lie anywhere on a device, in Triton.

A program takes a chunk of a tensor and leaves sums of it. Non-finite values are told by their
exponent bits, and counted and left out.
"""

from __future__ import annotations

import triton
import triton.language as tl

from sickbay.probe.gpu.kernel_values import EXPONENT, INF, is_number, values_at

BLOCK = 512  # values a program holds at a time; more would not fit into its registers
UNROLL = 4  # of them in a row, so that more is on its way
PARTS = 11  # numbers that are left of a chunk
PARTS_ = tl.constexpr(PARTS)
PROBE_ = tl.constexpr(256)  # values of a chunk that its pivot and its unit are taken from
FAR = tl.constexpr(2.0**20)  # times the unit, above and below which fourth powers may be lost


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
def nothing(block: tl.constexpr):
    """Return the sums of no values, lane by lane: of powers, zeros, the least and the largest."""
    none = tl.zeros([block], tl.float32)
    low = tl.full([block], INF, tl.float32)
    return none, none, none, none, tl.zeros([block], tl.int32), low, -low


@triton.jit
def plus_powers(p1, p2, p3, p4, d):
    """Return the sums of powers with one more value."""
    square = d * d
    return p1 + d, p2 + square, p3 + square * d, p4 + square * square


@triton.jit
def careful_sums(pointer, first, last, pivot, inverse, block: tl.constexpr):
    """Return the sums of any values; what is not finite is counted and left out."""
    p1, p2, p3, p4, zeros, low, high = nothing(block)
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
        p1, p2, p3, p4 = plus_powers(p1, p2, p3, p4, d)
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
    p1, p2, p3, p4, zeros, low, high = nothing(block)
    lanes = tl.arange(0, block)
    if aligned:
        pointer = tl.multiple_of(pointer, 16)
    for start in range(first, last, block * unroll):
        if aligned:
            start = tl.multiple_of(start, block)
        for turn in tl.static_range(unroll):
            x = tl.load(pointer + start + (turn * block + lanes)).to(tl.float32)
            p1, p2, p3, p4 = plus_powers(p1, p2, p3, p4, (x - pivot) * inverse)
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
