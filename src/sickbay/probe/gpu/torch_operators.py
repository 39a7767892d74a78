"""Register the kernels as torch operators, so that compiled graphs can hold them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sickbay.probe.gpu import chunk_sums_kernel, merge_kernel

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
