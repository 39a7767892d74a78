import torch

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.sequences.samples_and_positions import (
    altered,
    by_sample,
    changes,
    relation_to_targets,
    unambiguous_samples,
)

LARGER = 3  # times: a division by the largest value of a batch shows only with that one


@dataclass(frozen=True, kw_only=True)
class SamplesStayApart(Statement):
    """In evaluation mode, no sample changes the output of another.

    Why it matters:
        A model that mixes samples relies on other samples, which will not be there in production.

    How it is tested:
        One of a few samples is changed. The outputs of the others must stay the same. Rows that are
        nodes of a graph are not samples.
    """

    order = 2
    remedy = "look for batch_first, view instead of transpose, or a dimension that is off by one"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        batch = unambiguous_samples(setup.batch)
        count = _mixed_samples(setup, batch, batch.sample_dim)
        if not count:
            return self.holds(f"changing one of {batch.size} samples changed no other output")
        main = batch.main
        several = main.ndim > 1 and not batch.sample_dim and main.shape[1] > 1
        if several and not _samples_are_first(setup) and _second_is_apart(setup, batch):
            raise Inapplicable("the second dimension of the input may count the samples")
        message = f"changing one of {batch.size} samples changed {count} of the other outputs"
        return self.fails(message, changed=count)


def _mixed_samples(setup: ModelSetup, batch: Batch, sample_dim: int) -> int:
    """Return how many samples change with another one."""
    main, size = batch.main, batch.main.shape[sample_dim]
    new, larger = main.clone(), main.clone()
    other = altered(main).select(sample_dim, 0)
    new.select(sample_dim, 0).copy_(other)
    larger.select(sample_dim, 0).copy_(other * LARGER if main.is_floating_point() else other)
    try:
        differs = changes(setup, batch, main, larger)
    except Inapplicable:  # it may overflow
        differs = changes(setup, batch, main, new)
    sizes = zip(setup.first_pass.output.shape, differs.shape, strict=False)
    if sum(pair == (setup.batch.size, batch.size) for pair in sizes) > 1:
        raise Inapplicable("each output compares samples")
    ways = by_sample(differs, size, sample_dim)
    counts = [int(torch.count_nonzero(way[1:].any(dim=1))) for way in ways]
    if not counts:
        raise Inapplicable("the outputs have no dimension of samples")
    return min(counts)


def _second_is_apart(setup: ModelSetup, batch: Batch) -> bool:
    """Return whether rows of the second dimension stay apart, so that they could be samples."""
    try:
        return not _mixed_samples(setup, batch, 1)
    except Inapplicable:
        return False


def _samples_are_first(setup: ModelSetup) -> bool:
    """Return whether the targets prove that the first dimension counts samples."""
    main, targets = setup.full_batch.main, setup.full_batch.targets
    if setup.full_batch.sample_dim or targets is None or not targets.ndim or main.ndim < 2:
        return False
    if relation_to_targets(main, targets, 1) == "next":
        return True
    return targets.shape[0] == main.shape[0] and targets.shape[:2] != main.shape[:2]
