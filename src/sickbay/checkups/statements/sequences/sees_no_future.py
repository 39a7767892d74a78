"""Longer than 60 lines: it first finds out whether the model predicts what comes next."""

from dataclasses import replace

from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.shifted_targets import relation_to_targets
from sickbay.checkups.statements.loss.loss_slopes import loss_slopes
from sickbay.checkups.statements.sequences.observe_attention import observed_attention
from sickbay.checkups.statements.sequences.samples_and_positions import (
    altered,
    by_position,
    changes,
    mixed_samples,
    samples_are_first,
    second_is_apart,
    time_dimension,
    unambiguous_samples,
)


@dataclass(frozen=True, kw_only=True)
class SeesNoFuture(Statement):
    """A model that predicts the next position does not see that position.

    Why it matters:
        A model that sees the answer copies it: the loss is excellent and the model useless.

    How it is tested:
        Later positions of the input are changed; outputs at earlier positions must stay the same.
        This applies to a model whose targets are its inputs shifted by one, or that attends
        backwards nearly everywhere. The target of a position must not be its own input.
    """

    order = 4
    remedy = "mask with torch.ones(L, L).tril(), pad convolutions on the left, shift the targets"
    most: float = threshold(0.5, "Share of earlier positions that count as a leak.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        time = time_dimension(setup)
        batch = unambiguous_samples(setup.batch)
        if time == 1 and not batch.sample_dim and _time_is_first(setup, batch):
            time, batch = 0, unambiguous_samples(replace(setup.batch, sample_dim=1))
        inputs = [each for each in batch.inputs if each.shape == batch.main.shape]
        relations = [relation_to_targets(each, batch.targets, time) for each in inputs]
        predicts = "next" in relations
        shown = inputs[relations.index("next")] if predicts else batch.main
        length = shown.shape[time]
        if length < 4:
            raise Inapplicable(f"the sequences have only {length} positions")
        same = not predicts and relations[0] == "same"
        last_counts = _last_position_counts(setup, batch, length) if same else None
        # The loss may shift the targets itself.
        predicts = predicts or last_counts is False or setup.is_next_token
        cut = length // 2
        part = (cut, length if predicts else cut + 1)
        earlier, later = _changed_positions(setup, batch, shown, time, part)
        if last_counts and not earlier.any() and later[0]:
            return self.fails("the target of each position is its own input, which the model sees")
        some = bool(0 < earlier.float().mean() <= self.most and later.all())
        leaks = some and setup.once(observed_attention).seen
        if not predicts and not leaks and (earlier.any() or not later.any()):
            raise Inapplicable("the model looks both ways, or its outputs are not predictions")
        if not earlier.any():
            return self.holds(f"later positions changed none of {cut} earlier outputs")
        count = int(earlier.sum())
        message = f"changing later positions changed {count} of {cut} earlier outputs"
        return self.fails(message, changed=count, earlier=cut)


def _time_is_first(setup: ModelSetup, batch: Batch) -> bool:
    """Return whether the model joins values along the first dimension but not along the second."""
    if samples_are_first(setup):
        return False
    try:
        return bool(mixed_samples(setup, batch, 0)) and second_is_apart(setup, batch)
    except Inapplicable:
        return False


def _changed_positions(
    setup: ModelSetup, batch: Batch, shown: Tensor, time: int, part: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Return which earlier and which later outputs change with a part of the input."""
    start, count = part[0], part[1] - part[0]
    new = shown.clone()
    new.narrow(time, start, count).copy_(altered(shown).narrow(time, start, count))
    differs = by_position(changes(setup, batch, shown, new), batch, shown.shape[time])
    if differs is None:
        raise Inapplicable("the outputs have no positions")
    places = differs.any(dim=2).any(dim=0)
    return places[:start], places[start:]


def _last_position_counts(setup: ModelSetup, batch: Batch, length: int) -> bool | None:
    """Return whether the loss depends on the last position; not so if it shifts the targets."""
    slopes = loss_slopes(setup, batch, length)
    return None if slopes is None else bool(slopes[:, -1].any())
