"""All statistics of many tensors, in one pass over their values."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sickbay.probe.cache_blocks import SAMPLE, WIDTH, Block, Buffers, Shape, lay_out
from sickbay.probe.merge_statistics import (
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
    Groups,
    finish,
    leave_out_nonfinite,
    rescale,
    rescale_spread,
)
from sickbay.vitals import COLUMN, STATISTICS, Numbers

DENSE = torch.strided
NARROW = {torch.float32, torch.bfloat16, torch.float16}  # measured in single precision
# Outside these bounds the fourth power of a value would leave the range of the number format.
SAFE = {"float32": (1e-8, 1e8), "float64": (1e-70, 1e70)}

# Rows whose mean makes up more than this share of their mean square are measured from their mean.
CENTRED = 0.9

# The places below and above each quartile, and the weight of the latter.
Places = tuple[NDArray[np.intp], NDArray[np.intp], Numbers]

_lock = Lock()  # the buffers are shared


def measure(tensors: Sequence[Tensor]) -> Numbers:
    """Return a row of statistics for each tensor, in the order of `STATISTICS`.

    Any device, dtype, layout and shape. NaN and Inf are counted and otherwise left out; a sparse
    tensor is measured over its stored values. Quartiles and the mean absolute value come from a
    fixed sample of 512 values.

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
            if type(tensor) is Tensor and tensor.dtype in NARROW and tensor.layout is DENSE
            else plain(tensor)
            for tensor in tensors
        ]
        wide = [index for index, tensor in enumerate(ready) if tensor.dtype is torch.float64]
        if not wide:
            return _plan(tuple([tensor.shape for tensor in ready]), "float32").measure(ready)
        result = np.empty((len(ready), len(STATISTICS)))
        narrow = [index for index in range(len(ready)) if index not in set(wide)]
        for where, precision in ((narrow, "float32"), (wide, "float64")):
            if not where:
                continue
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
    """How tensors of given shapes are measured; made once, used at every reading."""

    @torch.inference_mode(False)  # else the buffers would be of use in that mode alone
    def __init__(self, shapes: Sequence[Shape], precision: str) -> None:
        self.buffers = _buffers(precision)
        self.safe = SAFE[precision]
        self.blocks = lay_out(shapes, self.buffers)
        sizes = [prod(shape) for shape in shapes]
        rows = [max(1, -(-size // WIDTH)) for size in sizes]
        self.groups = Groups(np.cumsum([0, *rows[:-1]]), np.array(rows))
        self.parts = np.zeros((PARTS, sum(rows)))
        self.sample = np.empty((len(shapes), SAMPLE), precision)
        self.sizes = np.minimum(sizes, SAMPLE)
        self.places = _places(self.sizes)
        self.empty = 0 in sizes
        self.large = {
            each.tensor for block in self.blocks for each in block.pieces if not each.whole
        }

    def measure(self, tensors: Sequence[Tensor]) -> Numbers:
        odd = self.empty
        if self.large:
            tensors = list(tensors)
            for index in self.large:
                tensors[index] = tensors[index].reshape(-1)
        sample = self.sample.reshape(-1)
        for block in self.blocks:
            block.load(tensors)
            odd |= self._measure(block, self.parts[:, block.rows], sample[block.sample])
        places, sizes = self.places, self.sizes
        if odd and self.parts[LOST].any():
            self.sample[~np.isfinite(self.sample)] = np.inf
            sizes = np.isfinite(self.sample).sum(1)
            places = _places(sizes)
        self.sample.sort(axis=1)
        table = finish(self.parts, self.groups, _quartiles(self.sample, places), odd)
        table[:, COLUMN["mean_abs"]] = _mean_abs(self.sample, sizes)
        return table

    def _measure(self, block: Block, parts: Numbers, sample: NDArray[np.floating]) -> bool:
        """Measure each row of a block; return whether there was anything out of the ordinary."""
        buffers, height = self.buffers, len(block.counts)
        flat, values = buffers.flat, buffers.values[:height]
        work, mask, ones = buffers.work[:height], buffers.mask[:height], buffers.ones[:height]
        flat.take(block.picks, out=sample, mode="clip")
        parts[COUNT] = block.counts
        parts[LOW] = np.minimum.reduceat(flat, block.edges)[::2]
        parts[HIGH] = np.maximum.reduceat(flat, block.edges)[::2]
        np.equal(values, 0, out=mask)
        parts[ZEROS : LOST + 1] = parts[EXPONENT] = parts[PIVOT] = 0
        if np.count_nonzero(mask) > block.short:  # in total first, that is faster
            parts[ZEROS, block.starts] = [np.count_nonzero(piece) for piece in block.masks]
        largest = np.maximum(parts[HIGH], -parts[LOW])
        spoilt = None
        odd = not (  # also true for NaN
            largest.min() >= self.safe[0]
            and largest.max() <= self.safe[1]
            and (parts[LOW] < parts[HIGH]).all()
        )
        if odd:
            if not np.isfinite(largest).all():
                spoilt = leave_out_nonfinite(values, block.edges, parts)
            rescale(values, parts)
        parts[POWER1] = _dot(values, ones)
        parts[POWER2] = _dot(values, values)
        if (parts[POWER1] ** 2 > CENTRED * parts[COUNT] * parts[POWER2]).any():
            _centre(block, values, parts)
            if spoilt is not None:
                values[spoilt] = 0
            odd |= rescale_spread(values, parts, self.safe[0])
            parts[POWER1] = _dot(values, ones)
            parts[POWER2] = _dot(values, values)
        np.multiply(values, values, out=work)
        parts[POWER3] = _dot(work, values)
        parts[POWER4] = _dot(work, work)
        return odd


def _centre(block: Block, values: NDArray[np.floating], parts: Numbers) -> None:
    """Take from every value the mean of its row, which is then the pivot."""
    pivot = (parts[POWER1] / np.maximum(parts[COUNT], 1)).astype(values.dtype)
    parts[PIVOT] = pivot
    np.subtract(values, pivot[:, None], out=values)
    block.clear_padding()


def _dot(left: NDArray[np.floating], right: NDArray[np.floating]) -> NDArray[np.floating]:
    """Multiply rows with rows. One small product each, so that BLAS starts no threads."""
    product: NDArray[np.floating] = np.matmul(left[:, None, :], right[:, :, None])
    return product[:, 0, 0]


_dot = getattr(np, "vecdot", _dot)  # the same, faster, in numpy 2


def _places(counts: NDArray[np.integer]) -> Places:
    """Return where the quartiles lie in each row of the sample, once its values are sorted."""
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
    """Return the mean absolute value of each row; behind its values a row holds Inf."""
    values: Numbers = np.abs(sample) / sizes[:, None]  # divided first: the sum may overflow
    if sizes.min() < SAMPLE:
        values[np.arange(SAMPLE) >= sizes[:, None]] = 0
    means: Numbers = values.sum(1)
    means[sizes == 0] = np.nan
    return means


@lru_cache(maxsize=64)
def _plan(shapes: tuple[Shape, ...], precision: str) -> _Plan:
    return _Plan(shapes, precision)


@lru_cache(maxsize=2)
def _buffers(precision: str) -> Buffers:
    return Buffers(precision)
