"""Lay tensors out in cache-sized blocks of short rows, and sum each row."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay.vitals import Numbers

WIDTH = 1024  # values per row; short enough for sums in single precision
ROWS = 256  # rows per block; a block and its work arrays take 2.3 MB and stay in the cache
SAMPLE = 512  # values per tensor that the quartiles are taken from; all of a smaller one

# The sums of a row: its count; a pivot near its mean, and the sums of the first four powers of the
# distance from it, in units of 2**EXPONENT; the counts of zeros, and of NaN and Inf; its extremes.
COUNT, PIVOT, POWER1, POWER2, POWER3, POWER4, ZEROS, LOST, LOW, HIGH, EXPONENT = range(11)
PARTS = EXPONENT + 1
# Outside these bounds the fourth power of a value would leave the range of the number format.
SAFE = {np.dtype("float32"): (1e-8, 1e8), np.dtype("float64"): (1e-70, 1e70)}
CENTRED = 0.9  # rows are centred if their mean makes up more than this share of their mean square

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """A part of one tensor, from `row` on in its block."""

    tensor: int
    row: int
    part: slice
    whole: bool


class Buffers:
    """The arrays that blocks are measured in: one set per precision, shared by all plans."""

    def __init__(self, precision: str) -> None:
        size = ROWS * WIDTH
        # Two more values than the rows hold: one stands for "no value", and one is the last edge.
        self.flat = np.zeros(size + 2, precision)
        self.flat[size] = np.inf
        self.values = self.flat[:size].reshape(ROWS, WIDTH)
        self.tensor = torch.from_numpy(self.flat)
        self.work = np.empty((ROWS, WIDTH), precision)
        self.mask = np.empty((ROWS, WIDTH), bool)
        self.ones = np.ones((ROWS, WIDTH), precision)


class Block:
    """Pieces that are measured together, and everything about them that is known in advance.

    `row` and `mark` are the first row of the block among all rows, and the first place of its
    values in the sample.
    """

    def __init__(
        self, pieces: list[Piece], shapes: Sequence[Shape], buffers: Buffers, row: int, mark: int
    ) -> None:
        self.pieces = pieces
        self.targets: list[torch.Tensor] = []  # where each piece is copied to
        self.masks: list[NDArray[np.bool_]] = []  # where each piece lies in the mask
        self.padding: list[NDArray[np.floating]] = []  # the unused ends of rows
        counts: list[int] = []
        picks: list[NDArray[np.intp]] = []
        for piece in pieces:
            shape, start, stop = shapes[piece.tensor], piece.part.start, piece.part.stop
            first, size = piece.row * WIDTH, stop - start
            target = buffers.tensor[first : first + size]
            self.targets.append(target.view(shape) if piece.whole else target)
            self.masks.append(buffers.mask.reshape(-1)[first : first + size])
            full, rest = divmod(size, WIDTH)
            counts += [WIDTH] * full
            if rest or not full:
                self.padding.append(buffers.values[len(counts), rest:])
                counts.append(rest)
            positions = sample_of(piece.tensor, prod(shape))
            inside = positions[(positions >= start) & (positions < stop)]
            picks.append(inside - start + first)
            if stop == prod(shape):  # fill the rest of a small tensor's sample with "no value"
                picks.append(np.full(SAMPLE - len(positions), ROWS * WIDTH))
        starts = np.arange(len(counts)) * WIDTH
        self.counts = np.array(counts, np.float64)  # values in each row
        self.short = len(counts) * WIDTH - sum(counts)  # values missing from full rows
        self.starts = np.array([piece.row for piece in pieces])  # first row of each piece
        self.rows = slice(row, row + len(counts))  # its rows among all rows
        # The first and past-the-last value of each row.
        self.edges = np.stack([starts, starts + counts], axis=1).ravel().astype(np.intp)
        self.picks = np.concatenate(picks).astype(np.intp)  # positions of the sampled values
        self.sample = slice(mark, mark + len(self.picks))  # where those go

    def load(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copy the pieces in, converted to the precision of the block, and clear the padding.

        Tensors that lie in more than one block must be flat.
        """
        sources = [
            tensors[piece.tensor] if piece.whole else tensors[piece.tensor][piece.part]
            for piece in self.pieces
        ]
        torch._foreach_copy_(self.targets, sources)
        self.clear_padding()

    def clear_padding(self) -> None:
        for rest in self.padding:
            rest.fill(0)


def lay_out(shapes: Sequence[Shape], buffers: Buffers) -> list[Block]:
    """Distribute tensors over blocks in order: small ones whole, large ones in pieces."""
    groups: list[list[Piece]] = [[]]
    row = 0
    for tensor, shape in enumerate(shapes):
        size, start = prod(shape), 0
        while start < size or not start:
            if row and row + rows_for(size - start) > ROWS:
                groups.append([])
                row = 0
            stop = min(size, start + (ROWS - row) * WIDTH)
            groups[-1].append(Piece(tensor, row, slice(start, stop), stop - start == size))
            row += rows_for(stop - start)
            start = max(stop, 1)
    blocks: list[Block] = []
    row = mark = 0
    for pieces in filter(None, groups):
        blocks.append(Block(pieces, shapes, buffers, row, mark))
        row, mark = blocks[-1].rows.stop, blocks[-1].sample.stop
    return blocks


def rows_for(size: int) -> int:
    """Return how many rows so many values take; an empty tensor takes one."""
    return max(1, -(-size // WIDTH))


def sample_of(tensor: int, size: int) -> NDArray[np.intp]:
    """Return the ascending positions sampled in a tensor: a random one in each of equal strata.

    They are always the same, and drawn from a generator of our own.
    """
    if size <= SAMPLE:
        return np.arange(size)
    jitter = np.random.default_rng(tensor).random(SAMPLE)
    return ((np.arange(SAMPLE) + jitter) * (size / SAMPLE)).astype(np.intp)


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
