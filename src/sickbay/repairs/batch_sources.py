"""Where batches come from: tensors, a dataset, or a DataLoader with its own sampling."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset, default_collate
from torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

from sickbay.errors import UsageError
from sickbay.isolated_random import IsolatedRandom, loader_generators
from sickbay.printable import raising
from sickbay.repairs import sample_tensors

PEEK = 32  # samples to look at before training
QUARTILE_VALUES = 4_000_000  # to compute quartiles from
RARE = 0.01  # of the samples
ABSURD = 1e3  # interquartile ranges from the median of a feature

Inputs = tuple[Tensor, ...]
Batch = tuple[Inputs, Tensor]


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples in tensors."""

    inputs: Inputs
    targets: Tensor

    @property
    def size(self) -> int:
        return len(self.targets)

    def batches(self, rows: Sequence[Tensor], seed: int) -> Iterator[Any]:  # noqa: ARG002
        for some in rows:
            part = self.part(some)
            yield part.inputs, part.targets

    def part(self, rows: Tensor) -> Rows:
        picked = [
            each.index_select(0, rows.to(each.device)) for each in (*self.inputs, self.targets)
        ]
        return Rows(tuple(picked[:-1]), picked[-1])

    def good(self) -> Rows:
        """Leave out samples that no training can use, unless none would be left."""
        kept = torch.stack([good(each).cpu() for each in (*self.inputs, self.targets)]).all(0)
        return self if kept.all() or not kept.any() else self.part(kept.nonzero().flatten())


@dataclass(frozen=True, eq=False)
class Items:
    """Samples that a dataset returns one by one."""

    dataset: Any
    rows: Tensor
    workers: int = 0

    @property
    def size(self) -> int:
        return len(self.rows)

    def batches(self, rows: Sequence[Tensor], seed: int) -> Iterator[Any]:
        wanted = [self.rows[some].tolist() for some in rows]
        own = Generator().manual_seed(seed)
        loader: DataLoader[Any] = DataLoader(
            self.dataset, batch_sampler=wanted, num_workers=self.workers, generator=own
        )
        return _draw(loader, IsolatedRandom(seed))

    def part(self, rows: Tensor) -> Items:
        return replace(self, rows=self.rows[rows])


@dataclass(frozen=True, eq=False)
class Loaded:
    """Batches of a DataLoader with its own sampling or collation."""

    loader: DataLoader[Any]
    limit: int | None = None  # of batches

    def __getstate__(self) -> dict[str, Any]:
        """Return what can be pickled: not the worker processes that a loader may keep."""
        sent = copy.copy(self.loader)
        sent._iterator = None
        return {"loader": sent, "limit": self.limit}

    @property
    def size(self) -> int | None:
        try:
            return len(self.loader.sampler)  # type: ignore[arg-type]
        except (TypeError, NotImplementedError):
            return None

    def batches(self, rows: Sequence[Tensor], seed: int) -> Iterator[Any]:  # noqa: ARG002
        isolated = IsolatedRandom(seed, *loader_generators(self.loader))
        return islice(_draw(self.loader, isolated), self.limit)

    def first(self) -> Loaded:
        """Return the first tenth of the batches, or ten if their number is unknown."""
        try:
            return replace(self, limit=max(1, len(self.loader) // 10))
        except (TypeError, NotImplementedError):
            return replace(self, limit=10)


Source = Rows | Items | Loaded


def source_of(name: str, given: Any, dtype: torch.dtype) -> Source:
    """Return the source for what a user passed as `name`. Raise `UsageError` if it is invalid."""
    source: Source
    if not isinstance(given, DataLoader):
        source = _pair(name, given, dtype) or _dataset(name, given, dtype)
    elif _is_plain(given):
        source = _dataset(name, given.dataset, dtype, given.num_workers)
    else:
        source = Loaded(given)
    if isinstance(source, Rows):
        inputs, targets = source.inputs, source.targets
    else:
        inputs, targets = sample_tensors.batch(name, _first_batch(name, source), dtype)
    sample_tensors.check_rows(name, inputs, targets)
    if len(targets) >= min(PEEK, source.size or PEEK):
        sample_tensors.check_finite(name, inputs, targets)
    return source


def _first_batch(name: str, source: Items | Loaded) -> Any:
    what = f"{name} must be {sample_tensors.KINDS}, got one that cannot be read"
    with raising(UsageError, what):
        first = next(source.batches([torch.arange(min(PEEK, source.size or 0))], 0), None)
    if first is None:
        raise UsageError(f"{name} must have at least one sample, got none.")
    return first


def good(values: Tensor) -> Tensor:
    """Tell which samples are finite and not absurdly far from the others in any feature.

    >>> good(torch.tensor([[0.1, 1.0], [0.2, 1.0], [1e9, 1.0], [0.3, torch.nan], [0.4, 0.0]]))
    tensor([ True,  True, False, False,  True])
    """
    flat = values.reshape(len(values), -1)
    if not flat.is_floating_point() or not flat.numel():
        return torch.ones(len(flat), dtype=torch.bool, device=flat.device)
    some = flat[:: -(-flat.numel() // QUARTILE_VALUES)].double()
    some = some.where(some.isfinite(), torch.nan)
    low, middle, high = some.nanquantile(some.new_tensor([0.25, 0.5, 0.75]), 0)
    away = (some - middle).abs()
    other = away.where(away > 0, torch.nan)
    # If most samples have the same value, the others show the scale, unless they are too few.
    usual = other.nanmedian(0).values.where((away > 0).double().mean(0) > RARE, other.nanmedian())
    limit = ABSURD * (high - low).where(high > low, usual).nan_to_num(torch.inf)
    parts = torch.split(flat, max(1, QUARTILE_VALUES // flat.shape[1]))
    near = torch.cat([((part - middle).abs() <= limit).all(1) for part in parts])
    return near & flat.isfinite().all(1)


def _pair(name: str, given: Any, dtype: torch.dtype) -> Rows | None:
    """Return a pair as rows, None if it is no pair but perhaps a dataset."""
    listed = isinstance(given, list) and given and all(isinstance(each, tuple) for each in given)
    if not isinstance(given, tuple | list) or listed:
        return None
    if len(given) != 2:
        count = f"a {type(given).__name__} of {len(given)}"
        raise UsageError(f"{name} must be {sample_tensors.KINDS}, got {count}.")
    return Rows(*sample_tensors.pair(name, given[0], given[1], dtype))


def _dataset(name: str, given: Any, dtype: torch.dtype, workers: int = 0) -> Rows | Items:
    # Only these classes themselves: subclasses may change samples.
    if type(given) is Subset and type(given.dataset) is TensorDataset:
        rows = torch.as_tensor(given.indices, dtype=torch.long)
        return _dataset(name, given.dataset, dtype).part(rows)
    if type(given) is TensorDataset:
        return Rows(*sample_tensors.batch(name, given.tensors, dtype))
    countable = hasattr(given, "__getitem__") and hasattr(given, "__len__")
    other = isinstance(given, str | Mapping | IterableDataset | nn.Module)
    other = other or hasattr(given, "shape")
    if not countable or other:
        raise UsageError(f"{name} must be {sample_tensors.KINDS}, got {type(given).__name__}.")
    if not len(given):
        raise UsageError(f"{name} must have at least one sample, got none.")
    return Items(given, torch.arange(len(given)), workers)


def _is_plain(loader: DataLoader[Any]) -> bool:
    """Return whether a loader only splits samples into batches, which we can do as well."""
    order = loader.sampler
    shuffled = type(order) is RandomSampler and not order.replacement
    return (
        not isinstance(loader.dataset, IterableDataset)
        and loader.collate_fn is default_collate
        and loader.worker_init_fn is None
        and type(loader.batch_sampler) is BatchSampler
        and loader.batch_size is not None  # it is None with a custom batch sampler
        and (type(order) is SequentialSampler or shuffled)
        and len(order) == len(loader.dataset)  # type: ignore[arg-type]
    )


def _draw(batches: Iterable[Any], isolated: IsolatedRandom) -> Iterator[Any]:
    """Yield batches that are drawn with these random numbers."""
    with isolated:
        iterator = iter(batches)
    while True:
        with isolated:
            batch = next(iterator, None)
        if batch is None:
            return
        yield batch
