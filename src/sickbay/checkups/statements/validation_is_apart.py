from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class ValidationIsApart(Statement):
    """No sample of the validation batch is in the training batch.

    Why it matters:
        What was seen in training says nothing about what was not.

    How it is tested:
        The inputs are compared value by value. Samples that are constant or shorter than `values`
        do not count, nor do those that the training batch itself holds twice. Of the rest, `rows`
        and a share of `share` may not be in both.
    """

    remedy = "split before samples are copied, augmented or cut into windows"

    rows: int = threshold(2, "Samples in both that are too many.", least=1)
    share: float = threshold(0.01, "Share of the smaller batch that is too much.", least=0)
    values: int = threshold(4, "Values that a sample must have to be told from others.", least=1)

    def examine(self, case: Case) -> Result:
        validation = case.validation
        kept, seen = self._samples(case.given_batch), self._samples(validation)
        if not kept or not seen:
            raise Inapplicable("the samples are too small to be told apart")
        usual = {each for each, count in kept.items() if count > 1}
        both = (kept.keys() & seen.keys()) - usual
        least = min(len(kept.keys() - usual), len(seen.keys() - usual))
        share = len(both) / max(1, least)
        said = f"{len(both)} of {seen.total()} validation samples are in the training batch"
        if len(both) >= self.rows and share > self.share:
            return self.fails(said, share=share)
        return self.holds(said, share=share)

    def _samples(self, batch: Batch) -> Counter[bytes]:
        """Return the inputs of each sample as bytes, those that can be told from others."""
        size = batch.size
        parts = [each for each in batch.inputs if each.ndim > batch.along]
        parts = [_rows(each, batch.along) for each in parts if each.shape[batch.along] == size]
        telling = [_tells(row, self.values) for row in parts[0]]
        return Counter(
            b"".join(part[place].cpu().numpy().tobytes() for part in parts)
            for place in range(size)
            if telling[place]
        )


def _rows(tensor: Tensor, along: int) -> Tensor:
    tensor = tensor.detach().movedim(along, 0).flatten(1) if tensor.ndim > 1 else tensor[:, None]
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.int64).contiguous()


def _tells(row: Tensor, values: int) -> bool:
    return row.numel() >= values and not bool((row == row[0]).all())
