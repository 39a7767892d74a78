from dataclasses import dataclass

import torch

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.changed_inputs import altered, answer, countable, differ, replaced
from sickbay.checkups.report import Result
from sickbay.checkups.sample_dimension import by_sample, surely_first


@dataclass(frozen=True, kw_only=True)
class SamplesStayApart(Statement):
    """In evaluation no sample changes the output of another.

    Why it matters:
        A model that mixes samples learns from company that it will not have when it is used.

    How it is tested:
        In a batch of a few samples one is changed; the outputs of the others must stay as they are.
        Rows that are nodes of a graph are not samples.
    """

    remedy = "look for batch_first, view in place of transpose, or a dimension that is off by one"

    def examine(self, case: Case) -> Result:
        _ = case.seen
        batch = _largest_first(countable(case.batch))
        mixed, changed = self._mixed(case, batch, batch.along)
        if not mixed:
            return self.holds(f"of {batch.size} samples, changing one changed no other output")
        doubtful = not surely_first(case) and batch.main.ndim > 1 and not batch.along
        doubtful = doubtful and batch.main.shape[1] > 1
        if doubtful and self._second(case, batch):
            raise Inapplicable("the samples may be along the second dimension of the input")
        message = f"changing one of {batch.size} samples changed {changed} of the other outputs"
        return self.fails(message, changed=changed)

    def _second(self, case: Case, batch: Batch) -> bool:
        """Tell whether samples could be along the second dimension, as they stay apart there."""
        try:
            return not self._mixed(case, batch, 1)[0]
        except Inapplicable:
            return False

    def _mixed(self, case: Case, batch: Batch, along: int) -> tuple[bool, int]:
        """Tell whether one sample changes others, and how many."""
        main = batch.main
        size, new = main.shape[along], main.clone()
        new.select(along, 0).copy_(altered(main).select(along, 0))
        before, after = answer(case, batch), answer(case, replaced(batch, main, new))
        if before.shape != after.shape or not before.ndim:
            raise Inapplicable("the outputs do not count samples")
        first = case.seen.output
        sizes = zip(first.shape, before.shape, strict=False)
        if sum(pair == (case.batch.size, batch.size) for pair in sizes) > 1:
            raise Inapplicable("each output compares samples")
        pairs = zip(by_sample(before, size, along), by_sample(after, size, along), strict=True)
        changes = [differ(*pair)[1:].any(dim=1) for pair in pairs]
        if not changes:
            raise Inapplicable("the outputs do not count samples")
        counts = [int(torch.count_nonzero(each)) for each in changes]
        return min(counts) > 0, min(counts)


def _largest_first(batch: Batch) -> Batch:
    """Return the samples by size: a division by the largest of all shows in that one only."""
    values = batch.main.movedim(batch.along, 0).reshape(batch.size, -1).float()
    return batch.rows(values.amax(1).argsort(descending=True))
