"""What both kernels do: read values of any kind, tell the finite ones, choose a sample."""

from __future__ import annotations

import triton
import triton.language as tl

INF = tl.constexpr(float("inf"))
EXPONENT = tl.constexpr(0x7F800000)


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
def sample_places(size, jitter, count: tl.constexpr):
    """Return where a tensor is sampled: one place in each of equal strata; all if it is small."""
    lanes = tl.arange(0, count)
    spread = (lanes.to(tl.float64) + tl.load(jitter + lanes).to(tl.float64)) * (size / count)
    return tl.where(size > count, spread.to(tl.int64), lanes.to(tl.int64))
