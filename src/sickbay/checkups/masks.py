"""Masks that a model can be called with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from inspect import signature

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch
from sickbay.checkups.changed_inputs import replaced

KEEP = ("attention_mask", "valid_mask")  # 1 is kept
LEAVE = ("key_padding_mask", "src_key_padding_mask", "padding_mask", "pad_mask")  # True is left out
EITHER = ("mask", "src_mask", "input_mask", "token_mask", "seq_mask", "key_mask", "x_mask")
LENGTHS = ("lengths", "length", "seq_lens", "seq_lengths", "input_lengths", "x_lens", "lens")


@dataclass(frozen=True)
class Mask:
    """A way to call a model: with a mask that leaves out the end of the last sample."""

    name: str
    batch: Batch


def masks(model: nn.Module, batch: Batch, kept: int) -> Iterator[Mask]:
    """Yield the ways in which a model may be told to keep so many places of the last sample."""
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
        for value in _values(name, keep, given):
            if isinstance(given, Tensor):
                yield Mask(name, replaced(batch, given, value))
            else:
                kwargs = {**batch.kwargs, name: value}
                yield Mask(name, replace(batch, kwargs=kwargs))


def _values(name: str, keep: Tensor, given: object) -> Iterator[Tensor]:
    """Yield what may be handed over, of the kind that was given, if one was."""
    if name in LENGTHS:
        yield keep.sum(1)
        return
    ways = [keep] if name in KEEP else [~keep] if name in LEAVE else [keep, ~keep]
    if name not in (*KEEP, *LEAVE, *EITHER):
        return
    if isinstance(given, Tensor):
        if len(ways) > 1 and _plain(given) and given.float().mean() != 0.5:
            ways = ways[:1] if given.float().mean() > 0.5 else ways[1:]  # most places are kept
        if given.shape[:1] == keep.shape[:1] and given.shape[-1] == keep.shape[1]:
            middle = [1] * (given.ndim - 2)
            shaped = [each.view(len(keep), *middle, -1).expand_as(given) for each in ways]
            if given.is_floating_point() and not given.max() > 0:  # it is added to scores
                kept = keep.view(len(keep), *middle, -1).expand_as(given)
                yield torch.zeros_like(given).masked_fill(~kept, torch.finfo(given.dtype).min)
                return
            yield from (each.to(given.dtype) for each in shaped if _plain(given))
        return
    for kind in (torch.long, torch.bool) if name in KEEP else (torch.bool,):
        yield from (each.to(kind) for each in ways)


def _plain(given: Tensor) -> bool:
    """Tell whether a mask holds zeros and ones."""
    return bool(((given == 0) | (given == 1)).all())
