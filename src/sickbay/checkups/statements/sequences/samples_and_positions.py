"""Samples and positions in inputs and outputs, and what changes when one is changed."""

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup
from sickbay.checkups.batch import Batch
from sickbay.checkups.compare_outputs import nudge
from sickbay.checkups.settled_statistics import settled_copy
from sickbay.checkups.shifted_targets import relation_to_targets
from sickbay.checkups.statements.sequences.observe_attention import observed_attention

COUNTS = (3, 4, 5, 7)  # of samples
ROUNDING = 1e-5  # of the largest output: what the order of a sum may change
LARGER = 3  # times: a division by the largest value of a batch shows only with that one


def nudged_output(setup: ModelSetup, batch: Batch) -> Tensor:
    """Return the output of a new copy whose weights were nudged, with fixed random numbers."""
    try:
        with settled_copy(setup) as model:
            nudge(model)
            torch.manual_seed(0)
            output = setup.evaluate(batch, model).float()
    except Inapplicable:
        raise
    except Exception as error:
        raise Inapplicable(f"such a batch raises {type(error).__name__}") from None
    if not output.isfinite().all():
        raise Inapplicable("the output is not finite")
    return output


def changes(setup: ModelSetup, batch: Batch, old: Tensor, new: Tensor) -> Tensor:
    """Return which values of the output change when an input is replaced."""
    before, after = (nudged_output(setup, each) for each in (batch, batch.with_input(old, new)))
    if before.shape != after.shape:
        raise Inapplicable("the shape of the outputs depends on the values of the inputs")
    return changed(before, after)


def unambiguous_samples(batch: Batch) -> Batch:
    """Return a few samples, a number that no other dimension of the inputs has.

    Two are too few: divided by their deviation, any two numbers are -1 and 1.
    """
    taken = {size for each in batch.require_samples().inputs for size in each.shape}
    return batch.cycle(next((each for each in COUNTS if each not in taken), 3))


def altered(values: Tensor) -> Tensor:
    """Return other values of the same range; each row differs, also where all values are equal.

    >>> altered(torch.tensor([[0, 1, 5, 5]])), altered(torch.tensor([[0.0, 1.0], [0.0, 0.5]]))
    (tensor([[1, 2, 0, 0]]), tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]]))
    >>> altered(torch.tensor([3, 3])), altered(torch.tensor([0, 0]))
    (tensor([2, 2]), tensor([1, 1]))
    """
    if values.dtype == torch.bool:
        return ~values
    low, high = values.min(), values.max()
    if not values.is_floating_point():
        least, count = int(low), int(high) - int(low) + 1
        if count == 1:
            return values - 1 if least > 0 else values + 1
        wide = values.long()  # a byte would overflow
        return ((wide - least + 1) % count + least).to(values.dtype)
    new = low + high - values
    if values.ndim > 1:
        new = torch.where(_same_rows(new.flip(-1), values), new, new.flip(-1))
    spread = high - low if high > low else torch.ones_like(low)
    return torch.where(_same_rows(new, values), low + spread * torch.rand_like(values), new)


def _same_rows(one: Tensor, other: Tensor) -> Tensor:
    """Return which rows are equal, or which values if there are no rows."""
    same = one == other
    return same.all(dim=-1, keepdim=True) if same.ndim > 1 else same


def changed(one: Tensor, other: Tensor) -> Tensor:
    """Return for each value whether it differs by more than rounding."""
    return (one - other).abs() > ROUNDING * one.abs().max().clamp(min=1e-30)


def by_sample(output: Tensor, samples: int, sample_dim: int) -> list[Tensor]:
    """Return the ways in which an output may hold one row of values for each sample."""
    ways = []
    if output.ndim > sample_dim and output.shape[sample_dim] == samples:
        ways.append(output.movedim(sample_dim, 0))
    if sample_dim and output.shape[0] == samples:
        ways.append(output)
    if not sample_dim and output.ndim > 2 and output.shape[1] == samples != output.shape[0]:
        ways.append(output.movedim(1, 0))
    if not ways and output.shape[0] % samples == 0:
        ways.append(output)
        ways.append(output.reshape(output.shape[0] // samples, samples, -1).movedim(1, 0))
    return [each.reshape(samples, -1) for each in ways]


def mixed_samples(setup: ModelSetup, batch: Batch, sample_dim: int) -> int:
    """Return how many samples change with another one, counted along a dimension of the input."""
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


def second_is_apart(setup: ModelSetup, batch: Batch) -> bool:
    """Return whether rows of the second dimension stay apart, so that they could be samples."""
    try:
        return not mixed_samples(setup, batch, 1)
    except Inapplicable:
        return False


def samples_are_first(setup: ModelSetup) -> bool:
    """Return whether the targets prove that the first dimension counts samples."""
    main, targets = setup.full_batch.main, setup.full_batch.targets
    if setup.full_batch.sample_dim or targets is None or not targets.ndim or main.ndim < 2:
        return False
    if relation_to_targets(main, targets, 1) == "next":
        return True
    return targets.shape[0] == main.shape[0] and targets.shape[:2] != main.shape[:2]


def time_dimension(setup: ModelSetup) -> int:
    """Return the dimension of the first input that is time."""
    batch, main = setup.batch, setup.batch.main
    if batch.tokens and main.ndim == 2:
        return 1 - batch.sample_dim
    recurrent = any(isinstance(each, nn.RNNBase) for each in setup.model.modules())
    rows = main.is_floating_point() and main.ndim == 3
    if rows and (recurrent or setup.once(observed_attention).seen):
        return 1 - batch.sample_dim
    for time in range(1, main.ndim):
        if not batch.sample_dim and relation_to_targets(main, batch.targets, time) == "next":
            return time
    raise Inapplicable("the inputs are not sequences")


def with_length(batch: Batch, time: int, length: int) -> Batch:
    """Return sequences of another length: cut, or repeated from their start."""
    old = batch.main.shape[time]
    return with_places(batch, time, torch.arange(length, device=batch.main.device) % old)


def with_places(batch: Batch, time: int, places: Tensor) -> Batch:
    """Return sequences that consist of these positions."""
    size, main, old = batch.size, batch.main, batch.main.shape[time]

    def resize(value: Tensor) -> Tensor:
        if value is main:
            return value.index_select(time, places)
        dim = batch.sample_dim
        has_samples = value.ndim > dim and value.shape[dim] == size
        for dimension in range(value.ndim):
            if value.shape[dimension] == old and not (has_samples and dimension == dim):
                value = value.index_select(dimension, places)
        return value

    return batch.map_inputs(resize)


def by_position(output: Tensor, batch: Batch, length: int) -> Tensor | None:
    """Return an output as samples by positions by values, None if it has no positions.

    >>> batch = Batch((torch.rand(2, 3),))
    >>> by_position(torch.rand(6, 5), batch, 3).shape, by_position(torch.rand(2, 5), batch, 3)
    (torch.Size([2, 3, 5]), None)
    """
    shape, samples = tuple(output.shape), batch.size
    if shape[:2] == (samples, length):
        return output.reshape(samples, length, -1)
    if shape[:2] == (length, samples):
        return output.transpose(0, 1).reshape(samples, length, -1)
    if len(shape) == 3 and (shape[0], shape[2]) == (samples, length):
        return output.transpose(1, 2)
    if len(shape) == 2 and shape[0] == samples * length and length > 1:
        if batch.sample_dim:
            return output.reshape(length, samples, -1).transpose(0, 1)
        return output.reshape(samples, length, -1)
    return None
