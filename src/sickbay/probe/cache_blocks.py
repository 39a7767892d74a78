"""Where the values of tensors lie while they are measured: cache-sized blocks of short rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

WIDTH = 1024  # values a row; short enough for sums in single precision
ROWS = 256  # rows a block; with its work arrays a block takes 2.3 MB and stays in the cache
SAMPLE = 512  # values a tensor that the quartiles are taken from; all of a smaller one

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """A part of one tensor, lying from `row` on in its block."""

    tensor: int
    row: int
    part: slice
    whole: bool


class Buffers:
    """The arrays every block is worked on in: one set a precision, shared by all plans."""

    def __init__(self, precision: str) -> None:
        size = ROWS * WIDTH
        # Two values more than the rows hold: a stand-in for "no value", and a last edge.
        self.flat = np.zeros(size + 2, precision)
        self.flat[size] = np.inf
        self.values = self.flat[:size].reshape(ROWS, WIDTH)
        self.tensor = torch.from_numpy(self.flat)
        self.work = np.empty((ROWS, WIDTH), precision)
        self.mask = np.empty((ROWS, WIDTH), bool)
        self.ones = np.ones((ROWS, WIDTH), precision)


@dataclass(frozen=True)
class Block:
    """Some pieces that are measured together, and all about them that can be known before."""

    pieces: tuple[Piece, ...]
    targets: list[torch.Tensor]  # where each piece is copied to
    rows: slice  # its rows among all rows
    counts: NDArray[np.float64]  # values in each row
    short: int  # values missing to full rows
    starts: NDArray[np.integer]  # first row of each piece
    masks: list[NDArray[np.bool_]]  # where each piece lies in the mask
    padding: list[NDArray[np.floating]]  # what lies behind the values in rows that are not full
    edges: NDArray[np.intp]  # first and past-the-last value of each row
    picks: NDArray[np.intp]  # positions of the values sampled for the quartiles
    sample: slice  # where those go

    def load(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copy the pieces in, converted to the block's precision, and clear what lies behind.

        Tensors that lie in more than one block must be flat.
        """
        sources = [
            tensors[piece.tensor] if piece.whole else tensors[piece.tensor][piece.part]
            for piece in self.pieces
        ]
        torch._foreach_copy_(self.targets, sources)
        self.clear_padding()

    def clear_padding(self) -> None:
        """Set what lies behind the values in rows that are not full to 0."""
        for rest in self.padding:
            rest.fill(0)


def lay_out(shapes: Sequence[Shape], buffers: Buffers) -> list[Block]:
    """Distribute tensors over blocks: in order, small ones whole, large ones in pieces."""
    blocks: list[Block] = []
    pieces: list[Piece] = []
    row = 0
    for tensor, shape in enumerate(shapes):
        size, start = prod(shape), 0
        while True:
            needed = max(1, -(-(size - start) // WIDTH))
            if row and row + needed > ROWS:
                blocks.append(_block(pieces, shapes, buffers, blocks))
                pieces, row = [], 0
            stop = min(size, start + (ROWS - row) * WIDTH)
            pieces.append(Piece(tensor, row, slice(start, stop), stop - start == size))
            row += max(1, -(-(stop - start) // WIDTH))
            start = stop
            if start >= size:
                break
    if pieces:
        blocks.append(_block(pieces, shapes, buffers, blocks))
    return blocks


def sample_of(tensor: int, size: int) -> NDArray[np.intp]:
    """Return the ascending positions sampled in a tensor: one at random in each of equal strata.

    The generator is our own and always starts alike: the user's generators are never touched.
    """
    if size <= SAMPLE:
        return np.arange(size)
    jitter = np.random.default_rng(tensor).random(SAMPLE)
    return ((np.arange(SAMPLE) + jitter) * (size / SAMPLE)).astype(np.intp)


def _block(
    pieces: list[Piece], shapes: Sequence[Shape], buffers: Buffers, before: list[Block]
) -> Block:
    targets: list[torch.Tensor] = []
    masks: list[NDArray[np.bool_]] = []
    padding: list[NDArray[np.floating]] = []
    counts: list[int] = []
    picks: list[NDArray[np.intp]] = []
    for piece in pieces:
        shape, start, stop = shapes[piece.tensor], piece.part.start, piece.part.stop
        first, size = piece.row * WIDTH, stop - start
        target = buffers.tensor[first : first + size]
        targets.append(target.view(shape) if piece.whole else target)
        masks.append(buffers.mask.reshape(-1)[first : first + size])
        full, rest = divmod(size, WIDTH)
        counts += [WIDTH] * full
        if rest or not full:
            padding.append(buffers.values[len(counts), rest:])
            counts.append(rest)
        positions = sample_of(piece.tensor, prod(shape))
        inside = positions[(positions >= start) & (positions < stop)]
        picks.append(inside - start + first)
        if stop == prod(shape):  # a small tensor fills its share of the sample with no-values
            picks.append(np.full(SAMPLE - len(positions), ROWS * WIDTH))
    starts = np.arange(len(counts)) * WIDTH
    picked = np.concatenate(picks).astype(np.intp)
    row = before[-1].rows.stop if before else 0
    mark = before[-1].sample.stop if before else 0
    return Block(
        pieces=tuple(pieces),
        targets=targets,
        rows=slice(row, row + len(counts)),
        counts=np.array(counts, np.float64),
        short=len(counts) * WIDTH - sum(counts),
        starts=np.array([piece.row for piece in pieces]),
        masks=masks,
        padding=padding,
        edges=np.stack([starts, starts + counts], axis=1).ravel().astype(np.intp),
        picks=picked,
        sample=slice(mark, mark + len(picked)),
    )
