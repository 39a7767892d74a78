"""Labels that belong to other inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from sickbay import arguments
from sickbay.errors import UsageError
from sickbay.inject.injection import When
from sickbay.inject.places import rebuilt


def shuffle_labels(batches: Iterable[Any], *, at: int, seed: int = 0) -> ShuffledLabels:
    """Shuffle the labels within each batch, from a batch on.

    Labels do not pass through the model, so this wraps the batches. Wrap them once, before the loop
    over the epochs: batches are counted on from one epoch to the next. The order comes from a
    generator of its own. A batch of one has nothing to shuffle.

    Args:
        batches: Batches as the loop gets them: tuples or lists, the labels last.
        at: The first batch, counted from 0.
        seed: Where the generator starts.

    >>> batch = torch.rand(64, 2), torch.arange(64)
    >>> [y.equal(batch[1]) for x, y in shuffle_labels([batch] * 3, at=1)]
    [True, False, False]
    """
    arguments.check_iterable("batches", batches, "what a loop gets batches from")
    return ShuffledLabels(batches, When.from_step(at), arguments.check_seed(seed))


class ShuffledLabels:
    """Batches with shuffled labels; made by `shuffle_labels`.

    Attributes:
        step: The number of the next batch.
        steps: The first batch whose labels were shuffled.
    """

    def __init__(self, batches: Iterable[Any], when: When, seed: int) -> None:
        self.step = 0
        self.steps: list[int] = []
        self._batches, self._when = batches, when
        self._generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        try:
            return len(self._batches)  # type: ignore[arg-type]
        except Exception as error:  # whatever it is that has none
            raise TypeError(f"{type(self._batches).__name__} has no length") from error

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches:
            step, self.step = self.step, self.step + 1
            if self._when.due(step):
                self.steps = self.steps or [step]
                yield self._shuffled(batch)
            else:
                yield batch

    def _shuffled(self, batch: Any) -> Any:
        rule = "batches must be tuples or lists whose last item is a tensor of labels"
        if not isinstance(batch, tuple | list) or len(batch) < 2:
            raise UsageError(f"{rule}, got {type(batch).__name__}.")
        *others, labels = batch
        if not isinstance(labels, Tensor) or not labels.ndim or labels.layout is not torch.strided:
            raise UsageError(f"{rule}, got {type(labels).__name__}.")
        order = torch.randperm(len(labels), generator=self._generator).to(labels.device)
        return rebuilt(batch, [*others, labels[order]])
