"""Longer than 60 lines: what looks like a leak is compared with a call without padding."""

from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.compare_outputs import difference
from sickbay.checkups.statements.sequences.embedded_tokens import padding_token
from sickbay.checkups.statements.sequences.padding_masks import (
    LENGTHS,
    Masked,
    given_masks,
)
from sickbay.checkups.statements.sequences.samples_and_positions import (
    altered,
    by_position,
    by_sample,
    changed,
    changes,
    nudged_output,
    unambiguous_samples,
    with_places,
)

SLACK = 1e-4  # of the outputs: sums over other lengths are rounded otherwise
LOCAL = 0.5  # share of the kept positions; fewer are those that a convolution reaches


@dataclass(frozen=True, kw_only=True)
class RespectsMasks(Statement):
    """Masked positions do not change the outputs of others.

    Why it matters:
        If padding is read as data, the output depends on the other samples in the batch.

    How it is tested:
        A third of one sample is masked with the mask that you pass, on the side where that has its
        padding, and then changed, if possible without the lowest and the highest token, which may
        be special. The outputs of that sample's other positions must stay the same, or be those of
        the sample without that third. In a key_padding_mask, True means drop; in an attention_mask,
        0 means drop. A plain mask may mean either, unless all that it drops has the same value. If
        the model obeys another mask, one that it ignores is a warning.
    """

    order = 5
    remedy = "pass the mask to attention and pooling; check whether True means keep or drop"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        batch = unambiguous_samples(setup.batch)
        main = batch.main
        table = main.is_floating_point() and main.ndim == 2
        if table or main.ndim not in (2, 3) or batch.sample_dim or main.shape[1] < 3:
            raise Inapplicable("the inputs are not sequences")
        masks = list(given_masks(setup.model, batch))
        if not masks:
            raise Inapplicable("the batch has no mask")
        leaks: dict[str, tuple[int, Masked]] = {}  # the fewest of a name: its sense may be unknown
        for masked in masks:
            with suppress(Inapplicable):  # it needs a mask of another kind
                count = _leaks(setup, masked)
                if count < leaks.get(masked.name, (inf,))[0]:
                    leaks[masked.name] = count, masked
        if not leaks:
            raise Inapplicable("the model takes no mask that could be constructed")
        obeyed = [name for name, (count, _) in leaks.items() if not count]
        drop = f"{' and '.join(obeyed)} {'drop' if len(obeyed) > 1 else 'drops'}"
        for name, (count, masked) in leaks.items():
            if not count or (obeyed and _is_read(setup, batch, masked)):
                continue
            but = f", while those that {drop} changed none" if obeyed else ""
            message = f"positions that {name} drops changed {count} outputs of those it keeps{but}"
            result = self.fails(message, changed=count)
            return replace(result, severity="warning") if obeyed else result
        return self.holds(f"positions that {drop} changed no other output")


def _leaks(setup: ModelSetup, masked: Masked) -> int:
    """Return how many outputs of the positions that are kept depend on those that are dropped."""
    batch, main = masked.batch, masked.batch.main
    one, other = main.clone(), main.clone()
    one[-1, masked.dropped], other[-1, masked.dropped] = _fillings(setup, masked)
    leaking = _of_kept(changes(setup, batch.with_input(main, one), one, other), masked).any(dim=1)
    if not leaking.any() or _same_without_padding(setup, masked):
        return 0
    if len(leaking) > 1 and leaking.float().mean() < LOCAL:
        raise Inapplicable("only positions next to the padding change")
    return int(torch.count_nonzero(leaking))


def _fillings(setup: ModelSetup, masked: Masked) -> tuple[Tensor, Tensor]:
    """Return two contents of the dropped positions; a model may look for the highest token."""
    main, dropped = masked.batch.main, masked.dropped
    given = main[-1, dropped]
    if not main.is_floating_point() and main.dtype != torch.bool and main.ndim == 2:
        known, highest = torch.unique(main), main[-1, _kept_places(masked)].max()
        usual = known[(known > main.min()) & (known < highest)]
        for padding in (masked.token, _known_padding(setup, masked.batch)):
            usual = usual if padding is None else usual[usual != padding]
        if len(usual) > 1:
            places = torch.arange(len(given), device=main.device)
            # In another order alone, they would be the same to attention without positions.
            return usual[:1].expand_as(given), usual[(places + 1) % len(usual)]
    return given, altered(main)[-1, dropped]


def _is_read(setup: ModelSetup, batch: Batch, masked: Masked) -> bool:
    """Return whether outputs change with a mask, which may only do its part beside others."""
    before, after = (nudged_output(setup, each) for each in (batch, masked.batch))
    return before.shape != after.shape or bool(changed(before, after).any())


def _of_kept(output: Tensor, masked: Masked) -> Tensor:
    """Return what an output has for the kept positions of the last sample, or for the sample."""
    length = masked.batch.main.shape[1]
    positions = by_position(output, masked.batch, length)
    if positions is not None:
        return positions[-1, _kept_places(masked)]
    rows = by_sample(output, masked.batch.size, 0)
    named = [value for value in masked.batch.kwargs.values() if isinstance(value, Tensor)]
    lengths = {each.shape[1] for each in (*masked.batch.inputs, *named) if each.ndim > 1}
    if not rows or (output.ndim > 2 and output.shape[1] not in lengths):
        raise Inapplicable("the outputs have other positions than the inputs")
    return rows[0][-1:]


def _same_without_padding(setup: ModelSetup, masked: Masked) -> bool:
    """Return whether a sample gives the same outputs with padding and without."""
    batch, main, kept = masked.batch, masked.batch.main, _kept_places(masked)
    token = masked.token if masked.token is not None else _known_padding(setup, batch)
    padded = main.clone()
    if token is not None:
        padded[-1, masked.dropped] = token
    shorter = with_places(batch, 1, kept)
    if masked.name in LENGTHS:
        shorter = shorter.map_inputs(
            lambda each: each.clamp(max=len(kept)) if each.ndim == 1 else each
        )
    with suppress(Inapplicable):
        usual = _of_kept(nudged_output(setup, batch.with_input(main, padded)), masked)
        other = nudged_output(setup, shorter)
        rows = by_position(other, shorter, len(kept))
        other = (other if rows is None else rows)[-1:]
        alike = other.numel() == usual.numel()
        return alike and difference(usual, other.reshape(usual.shape)) < SLACK
    return False


def _known_padding(setup: ModelSetup, batch: Batch) -> Any:
    """Return the token that the model knows as padding, None if it knows none."""
    known, config = padding_token(setup, batch), getattr(setup.model, "config", None)
    return getattr(config, "pad_token_id", None) if known is None else known


def _kept_places(masked: Masked) -> Tensor:
    places = torch.arange(masked.batch.main.shape[1], device=masked.batch.main.device)
    keep = torch.ones_like(places, dtype=torch.bool)
    keep[masked.dropped] = False
    return places[keep]
