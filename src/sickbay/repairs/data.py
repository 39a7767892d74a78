"""The data of a repair: the same batches for every run, and what models are scored on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Generator, Tensor
from torch.utils.data import DataLoader, SequentialSampler

from sickbay.arguments import check_int, check_seed
from sickbay.model_arguments import check_device
from sickbay.remedies.padding import padding
from sickbay.repairs import sample_tensors
from sickbay.repairs.batch_sources import Batch, Inputs, Loaded, Rows, Source, source_of

SCORING_BATCH = 512  # samples
SMALLEST_SPLIT = 50  # samples needed to hold some out
HELD_OUT = 2000  # samples to hold out at most
STATISTICS_VALUES = 16_000_000  # to compute mean and standard deviation from
PADDED = 256  # samples that show what is padding
TRIED = 256  # samples of a dataset whose labels are checked before training


@dataclass(frozen=True, eq=False)
class Data:
    """What to train on and what to score on. The same seed gives the same batches.

    >>> data = Data.of((torch.rand(100, 3), torch.zeros(100)), batch_size=64)
    >>> [tuple(inputs[0].shape) for inputs, _ in data.batches(None, epoch=0)], data.held_out
    ([(64, 3), (26, 3)], True)
    """

    training: Source
    validation: Source
    batch_size: int | None
    held_out: bool  # whether no validation sample is trained on
    seed: int = 0
    device: torch.device | None = None
    dtype: torch.dtype = torch.float32
    shuffle: bool = True
    drop_last: bool = False
    scored_in: int = SCORING_BATCH

    @classmethod
    def of(
        cls,
        data: Any,
        validation: Any = None,
        *,
        batch_size: int,
        seed: int = 0,
        device: Any = None,
        dtype: torch.dtype = torch.float32,
    ) -> Data:
        """Convert the data that a user passes. Raise `UsageError` if it is invalid.

        `data` and `validation` are each a pair (x, y), a Dataset of such pairs or a DataLoader,
        which keeps its order, sampler, batch size and collation. x may be a tuple. Without
        `validation`, a part of the data is held out. Double precision becomes `dtype`.
        """
        batch_size, seed = check_int("batch_size", batch_size, least=1), check_seed(seed)
        where = None if device is None else check_device("device", device)
        training = source_of("data", data, dtype)
        scoring, held_out = training, validation is not None
        if held_out:
            scoring = source_of("validation", validation, dtype)
        elif isinstance(training, Loaded):
            scoring = training.first()
        elif training.size >= SMALLEST_SPLIT:
            few, held_out = min(training.size // 10, HELD_OUT), True
            rows = torch.randperm(training.size, generator=Generator().manual_seed(seed))
            kept = rows[few:] if shuffled(data) else rows[few:].sort().values
            training, scoring = training.part(kept), training.part(rows[:few])
        made = cls(training, scoring, batch_size, held_out, seed, where, dtype, shuffled(data))
        if isinstance(data, DataLoader):
            made = replace(made, batch_size=data.batch_size, drop_last=data.drop_last)
        if isinstance(validation, DataLoader) and validation.batch_size is not None:
            made = replace(made, scored_in=validation.batch_size)
        return made

    @property
    def size(self) -> int | None:
        """The number of training samples, if known."""
        return self.training.size

    @property
    def fixed_batches(self) -> bool:
        """Whether a DataLoader sets the batch size."""
        return isinstance(self.training, Loaded)

    def batches(self, batch_size: int | None, epoch: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, always in the same order.

        A single sample at the end is left out, since batch norm cannot train on one.
        """
        size = min(batch_size or self.batch_size or 1, 2**31)  # torch's limit
        order = self._order(epoch) if self.shuffle else torch.arange(self.size or 0)
        rows = list(torch.split(order, size))
        if self.drop_last and len(rows) > 1 and len(rows[-1]) < size:
            rows.pop()
        several = False
        for inputs, targets in self._ready(self.training, rows, epoch):
            if not several or len(targets) > 1:
                yield inputs, targets
            several |= len(targets) > 1

    def steps(self, batch_size: int | None) -> int | None:
        """Return the number of batches in an epoch, if known.

        >>> data = Data.of((torch.rand(9, 3), torch.zeros(9)), batch_size=4)
        >>> data.steps(4), data.steps(5), len(list(data.batches(4, epoch=0)))
        (2, 2, 2)
        """
        size = batch_size or self.batch_size or 1
        if self.size is None or self.fixed_batches:
            return None
        whole, rest = divmod(self.size, size)
        left_out = whole and (self.drop_last or (rest == 1 and size > 1))
        return whole + (rest > 0 and not left_out)

    def validation_batches(self) -> Iterator[Batch]:
        """Yield the batches to score on, always in the same order."""
        rows = torch.split(torch.arange(self.validation.size or 0), self.scored_in)
        return self._ready(self.validation, rows, 0)

    def some(self, count: int) -> Batch:
        """Return up to so many training samples."""
        rows = torch.split(self._order(0)[:count], SCORING_BATCH)
        return _joined(self._ready(self.training, rows, 0), count)

    def trials(self, count: int) -> Iterator[tuple[str, Inputs, Tensor, Tensor]]:
        """Yield a name, a few samples and many targets, for the training and the validation data.

        The samples include the smallest and the largest target, which are most likely to fail.
        """
        for name, source in (("data", self.training), ("validation", self.validation)):
            if isinstance(source, Rows):
                inputs, targets = source.inputs, source.targets
            else:
                rows = [torch.arange(min(TRIED, source.size or 0))]
                inputs, targets = _joined(self._ready(source, rows, 0), TRIED)
            flat = targets.reshape(len(targets), -1)
            extremes = torch.stack([flat.amin(1).argmin(), flat.amax(1).argmax()]).cpu()
            few = Rows(inputs, targets).part(torch.cat([torch.arange(len(flat))[:count], extremes]))
            yield name, *next(self._ready(few, [torch.arange(few.size)], 0)), targets

    def example(self, count: int = 32) -> Inputs:
        """Return the inputs of some samples."""
        return self.some(count)[0]

    def targets(self, count: int = 1024) -> Tensor:
        """Return some of the targets."""
        if isinstance(self.training, Rows):  # do not copy the inputs, which may be large
            return replace(self, training=replace(self.training, inputs=())).some(count)[1]
        return self.some(count)[1]

    @cached_property
    def padding(self) -> int | None:
        """The label that stands for padding, if the training samples show one. It is not scored."""
        return padding(*self.some(PADDED))

    def statistics(self, count: int = 4096) -> tuple[Tensor, Tensor] | None:
        """Return the mean and standard deviation of every feature, or channel of an image.

        Only finite values count. Return None if the first input has integers.
        """
        first = self.example(1)[0]
        values = self.example(min(count, max(32, STATISTICS_VALUES // max(1, first.numel()))))[0]
        if not values.is_floating_point():
            return None
        over = (0, *range(2, values.ndim)) if values.ndim > 3 else (0,)
        exact = values.double()
        finite = exact.isfinite()
        number = finite.sum(over, keepdim=True).clamp(min=1)
        mean = exact.where(finite, 0).sum(over, keepdim=True) / number
        square = (exact - mean).where(finite, 0).square().sum(over, keepdim=True) / number
        return mean[0].to(values.dtype), square.sqrt()[0].to(values.dtype)

    def without_bad_samples(self) -> Data:
        """Leave out samples that are not finite or absurdly far from all others."""
        if not isinstance(self.training, Rows):
            return self
        scoring = self.validation
        scoring = scoring.good() if isinstance(scoring, Rows) else scoring
        return replace(self, training=self.training.good(), validation=scoring)

    def _order(self, epoch: int) -> Tensor:
        own = Generator().manual_seed(self._seed(epoch))
        return torch.randperm(self.size or 0, generator=own)

    def _seed(self, epoch: int) -> int:
        return (self.seed * 1_000_003 + epoch) % 2**63

    def _ready(self, source: Source, rows: Sequence[Tensor], epoch: int) -> Iterator[Batch]:
        for raw in source.batches(rows, self._seed(epoch)):
            inputs, targets = sample_tensors.batch("data", raw, self.dtype)
            yield tuple(each.to(self.device) for each in inputs), targets.to(self.device)


def shuffled(data: Any) -> bool:
    """Return whether each epoch has another order. A DataLoader may keep the order."""
    return not (isinstance(data, DataLoader) and isinstance(data.sampler, SequentialSampler))


def _joined(batches: Iterable[Batch], count: int) -> Batch:
    """Return the first samples of some batches as one batch."""
    parts: list[list[Tensor]] = []
    for inputs, targets in batches:
        part = [*inputs, targets]
        if parts and any(a.shape[1:] != b.shape[1:] for a, b in zip(parts[0], part, strict=True)):
            break  # the loader pads every batch to another length
        parts.append(part)
        if sum(len(each[-1]) for each in parts) >= count:
            break
    *inputs_, targets = (torch.cat(each)[:count] for each in zip(*parts, strict=True))
    return tuple(inputs_), targets
