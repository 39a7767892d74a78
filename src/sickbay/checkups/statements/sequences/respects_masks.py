"""Longer than 60 lines: it also builds the masks that models take."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from inspect import signature

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.sequences.samples_and_positions import (
    altered,
    by_position,
    by_sample,
    changes,
    unambiguous_samples,
)

KEEP = ("attention_mask", "valid_mask")  # 1 means keep
DROP = ("key_padding_mask", "src_key_padding_mask", "padding_mask", "pad_mask")  # True means drop
EITHER = ("mask", "src_mask", "input_mask", "token_mask", "seq_mask", "key_mask", "x_mask")
LENGTHS = ("lengths", "length", "seq_lens", "seq_lengths", "input_lengths", "x_lens", "lens")


@dataclass(frozen=True, kw_only=True)
class RespectsMasks(Statement):
    """Masked positions do not change the outputs of others.

    Why it matters:
        If padding is read as data, the output depends on the other samples in the batch.

    How it is tested:
        The last third of one sample is masked with the model's mask argument, and then changed. The
        outputs of that sample's other positions must stay the same. In a key_padding_mask, True
        means drop; in an attention_mask, 0 means drop. A plain mask drops the value that is rarer
        in the mask you pass; if you pass none, either value may mean drop.
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
        length = main.shape[1]
        kept = length - max(1, length // 3)
        new = main.clone()
        new[-1, kept:] = altered(main)[-1, kept:]
        leaks: list[tuple[str, int]] = []
        for name, masked in masked_batches(setup.model, batch, kept):
            try:
                differs = changes(setup, masked, main, new)
            except Inapplicable:  # it needs a mask of another kind
                continue
            positions = by_position(differs, batch, length)
            rows = by_sample(differs, batch.size, 0)
            if positions is None and not rows:
                raise Inapplicable("the outputs have no dimension of samples")
            kept_outputs = rows[0][-1:] if positions is None else positions[-1, :kept].any(dim=-1)
            if not kept_outputs.any():
                return self.holds(f"positions that {name} drops changed no other output")
            leaks.append((name, int(torch.count_nonzero(kept_outputs))))
        if not leaks:
            raise Inapplicable("the model takes no mask that could be constructed")
        name, count = leaks[0]
        message = f"positions that {name} drops changed {count} outputs of those it keeps"
        return self.fails(message, changed=count)


def masked_batches(model: nn.Module, batch: Batch, kept: int) -> Iterator[tuple[str, Batch]]:
    """Yield calls that mask all but `kept` positions of the last sample, with the mask's name."""
    try:
        bound = signature(model.forward).bind_partial(*batch.args, **batch.kwargs)
        names = list(signature(model.forward).parameters)
    except (TypeError, ValueError):
        return
    size, length = batch.size, batch.main.shape[1]
    keep = torch.ones(size, length, dtype=torch.bool, device=batch.main.device)
    keep[:, -1] = False
    keep[-1, kept:] = False
    for name in names:
        given = bound.arguments.get(name)
        for value in _masks(name, keep, given):
            if isinstance(given, Tensor):
                yield name, batch.with_input(given, value)
            else:
                yield name, replace(batch, kwargs={**batch.kwargs, name: value})


def _masks(name: str, keep: Tensor, given: object) -> Iterator[Tensor]:
    """Yield possible masks, of the same kind as the given one if there is one."""
    if name in LENGTHS:
        yield keep.sum(1)
        return
    if name not in (*KEEP, *DROP, *EITHER):
        return
    masks = [keep] if name in KEEP else [~keep] if name in DROP else [keep, ~keep]
    if isinstance(given, Tensor):
        yield from _like(given, keep, masks)
        return
    for dtype in (torch.long, torch.bool) if name in KEEP else (torch.bool,):
        yield from (mask.to(dtype) for mask in masks)


def _like(given: Tensor, keep: Tensor, masks: list[Tensor]) -> Iterator[Tensor]:
    """Yield masks in the shape, dtype and sense of the given one."""
    if given.shape[:1] != keep.shape[:1] or given.shape[-1] != keep.shape[1]:
        return
    binary = bool(((given == 0) | (given == 1)).all())
    if len(masks) > 1 and binary and (share := given.float().mean()) != 0.5:
        masks = masks[:1] if share > 0.5 else masks[1:]  # most positions are kept
    shape = len(keep), *[1] * (given.ndim - 2), -1
    if given.is_floating_point() and not given.max() > 0:  # it is added to scores
        kept = keep.view(shape).expand_as(given)
        yield torch.zeros_like(given).masked_fill(~kept, torch.finfo(given.dtype).min)
    elif binary:
        yield from (mask.view(shape).expand_as(given).to(given.dtype) for mask in masks)
