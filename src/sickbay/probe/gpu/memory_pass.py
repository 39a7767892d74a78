"""Launch the kernels over many tensors in one pass.

The kernels are registered as torch operators, so that compiled graphs can hold them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sickbay.probe.gpu import chunk_sums_kernel, merge_kernel
from sickbay.probe.gpu.merge_kernel import KEPT
from sickbay.probe.row_sums import PARTS, SAMPLE
from sickbay.vitals import STATISTICS

KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
CHUNK = 32_768  # values a program reads; more if there would be too many chunks
CHUNKS = 16_384  # the sums of more chunks would take too much memory
ALIGNED = 16  # bytes; kernels load four aligned values at a time

READ = (
    "read(Tensor addresses, Tensor sizes, Tensor kinds, Tensor owners, Tensor begins, "
    "Tensor(a!) parts, int chunk, bool aligned) -> ()"
)
MERGE = (
    "merge(Tensor addresses, Tensor sizes, Tensor kinds, Tensor begins, Tensor parts, "
    "Tensor jitter, Tensor scale, Tensor(a!) kept, Tensor(b!) table, bool keep) -> ()"
)
MOVED = (
    "moved(Tensor addresses, Tensor sizes, Tensor kinds, Tensor jitter, Tensor kept, "
    "Tensor(a!) table) -> ()"
)

Layout = tuple[tuple[int, ...], tuple[torch.dtype, ...]]  # sizes and dtypes


class Pass:
    """Measures tensors of given sizes and dtypes on one device. Created once, used repeatedly."""

    def __init__(self, layout: Layout, device: torch.device) -> None:
        sizes, dtypes = layout
        self.device = device
        self.chunk = max(CHUNK, 1024 * -(-sum(sizes) // (1024 * CHUNKS)))
        counts = [max(1, -(-size // self.chunk)) for size in sizes]
        owners = np.repeat(np.arange(len(sizes), dtype=np.int32), counts)
        begins = np.cumsum([0, *counts], dtype=np.int32)
        self.sizes = sent(np.array(sizes, np.int64), device)
        self.kinds = sent(np.array([KINDS[each] for each in dtypes], np.int32), device)
        self.owners, self.begins = sent(owners, device), sent(begins, device)
        self.parts = torch.empty(len(owners) * PARTS, device=device)
        self.one = torch.ones(1, dtype=torch.float64, device=device)
        self._allocate_results()

    def _allocate_results(self) -> None:
        count, device = len(self.sizes), self.device
        shape = count, len(STATISTICS)
        self.table = torch.full(shape, torch.nan, dtype=torch.float64, device=device)
        self.kept = torch.empty(0, device=device)
        self.shifts = torch.empty(0, 3, dtype=torch.float64, device=device)
        self.addresses = Addresses(count, device)

    def twin(self) -> Pass:
        """Return another pass with the same layout and work space, but results of its own."""
        other = copy.copy(self)
        other._allocate_results()
        return other

    def read(self, tensors: Sequence[Tensor], scale: Tensor | None, keep: bool) -> Tensor:
        """Return the statistics of the tensors, on the device; the next call overwrites them.

        `keep` also keeps a sample of each tensor for `moved`.
        """
        if keep and not len(self.kept):
            self.kept = torch.empty(len(tensors), KEPT, device=self.device)
            self.shifts = torch.empty(len(tensors), 3, dtype=torch.float64, device=self.device)
        with current(self.device):
            addresses = self.addresses.of(tensors)
            operators.read(
                addresses, self.sizes, self.kinds, self.owners, self.begins, self.parts,
                self.chunk, self.addresses.aligned,
            )  # fmt: skip
            operators.merge(
                addresses, self.sizes, self.kinds, self.begins, self.parts, jitter(self.device),
                self.one if scale is None else scale, self.kept, self.table, keep,
            )  # fmt: skip
        return self.table

    def moved(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return how far each tensor moved since `read(keep=True)`.

        The columns are the distance relative to its norm, and the squares of both.
        """
        with current(self.device):
            operators.moved(
                self.addresses.of(tensors), self.sizes, self.kinds, jitter(self.device),
                self.kept, self.shifts,
            )  # fmt: skip
        return self.shifts


class Addresses:
    """The addresses of tensors, on the device; sent again only when they change."""

    def __init__(self, count: int, device: torch.device) -> None:
        self.aligned = True
        self._on_device = torch.zeros(count, dtype=torch.int64, device=device)
        self._known: list[int] = []

    def of(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return the addresses of these tensors."""
        found = [each.data_ptr() for each in tensors]
        if found != self._known:
            # Torch does not use pinned memory again before the device has read it.
            page = torch.tensor(found, dtype=torch.int64, pin_memory=self._on_device.is_cuda)
            self._on_device.copy_(page, non_blocking=True)
            self._known = found
            self.aligned = not any(address % ALIGNED for address in found)
        return self._on_device


def current(device: torch.device) -> AbstractContextManager[object]:
    """Launch kernels on this device inside a `with` block."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def sent(values: NDArray[Any], device: torch.device) -> Tensor:
    """Copy an array to a device without waiting for it."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@lru_cache(maxsize=16)
def jitter(device: torch.device) -> Tensor:
    """Return where in its stratum each value of a sample lies."""
    return sent(np.random.default_rng(0).random(SAMPLE).astype(np.float32), device)


def _read(
    addresses: Tensor, sizes: Tensor, kinds: Tensor, owners: Tensor, begins: Tensor, parts: Tensor,
    chunk: int, aligned: bool,
) -> None:  # fmt: skip
    chunk_sums_kernel.read[(len(owners),)](
        addresses, sizes, kinds, owners, begins, parts, chunk,
        block=chunk_sums_kernel.BLOCK, unroll=chunk_sums_kernel.UNROLL,
        aligned=aligned, num_warps=2,
    )  # fmt: skip


def _merge(
    addresses: Tensor, sizes: Tensor, kinds: Tensor, begins: Tensor, parts: Tensor, jitter: Tensor,
    scale: Tensor, kept: Tensor, table: Tensor, keep: bool,
) -> None:  # fmt: skip
    merge_kernel.merge[(len(sizes),)](
        addresses, sizes, kinds, begins, parts, jitter, scale, kept, table,
        keep=keep, num_warps=4,
    )  # fmt: skip


def _moved(
    addresses: Tensor, sizes: Tensor, kinds: Tensor, jitter: Tensor, kept: Tensor, table: Tensor
) -> None:
    merge_kernel.moved[(len(sizes),)](addresses, sizes, kinds, jitter, kept, table, num_warps=4)


def _nothing(*_: Any) -> None:
    """Stand in for an operator where tensors have no values, as in a trace."""


library = torch.library.Library("sickbay", "FRAGMENT")  # must live as long as the operators
for schema, run in ((READ, _read), (MERGE, _merge), (MOVED, _moved)):
    library.define(schema)
    name = schema.partition("(")[0]
    library.impl(name, run, "CUDA")
    library.impl(name, run, "CPU")  # in Triton's interpreter
    library.impl(name, _nothing, "Meta")
operators = torch.ops.sickbay
