from collections import Counter

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch


@dataclass(frozen=True, kw_only=True)
class ValidationIsApart(Statement):
    """No sample of the validation batch is in the training batch.

    Why it matters:
        Validation on samples seen in training says nothing about new ones.

    How it is tested:
        The inputs are compared value by value. Samples that are constant or have fewer than
        `values` values do not count, nor do samples that occur twice in the training batch itself.
        Of the rest, fewer than `rows` samples, or at most a share of `share`, may be in both
        batches.
    """

    order = 5
    remedy = "split the data before samples are copied, augmented or cut into windows"

    rows: int = threshold(2, "Number of samples in both batches that is too large.", least=1)
    share: float = threshold(0.01, "Share of the smaller batch that is too large.", least=0)
    values: int = threshold(4, "Values that a sample needs to be told apart from others.", least=1)

    def examine(self, setup: ModelSetup) -> Result:
        validation = self._samples(setup.validation)
        training = self._samples(setup.given_batch)
        if not training or not validation:
            raise Inapplicable("the samples are too small to be told apart")
        repeated = {each for each, count in training.items() if count > 1}
        both = (training.keys() & validation.keys()) - repeated
        fewest = min(len(training.keys() - repeated), len(validation.keys() - repeated))
        share = len(both) / max(1, fewest)
        total = validation.total()
        message = f"{len(both)} of {total} validation samples are in the training batch"
        if len(both) >= self.rows and share > self.share:
            return self.fails(message, share=share)
        return self.holds(message, share=share)

    def _samples(self, batch: Batch) -> Counter[bytes]:
        """Return the inputs of each distinguishable sample as bytes."""
        size, dim = batch.size, batch.sample_dim
        parts = [each for each in batch.inputs if each.ndim > dim]
        parts = [_rows(each, dim) for each in parts if each.shape[dim] == size]
        first = parts[0]
        varied = (first != first[:, :1]).any(1) & (first.shape[1] >= self.values)
        return Counter(
            b"".join(part[place].cpu().numpy().tobytes() for part in parts)
            for place in range(size)
            if varied[place]
        )


def _rows(tensor: Tensor, dim: int) -> Tensor:
    tensor = tensor.detach().movedim(dim, 0).flatten(1) if tensor.ndim > 1 else tensor[:, None]
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.int64).contiguous()
