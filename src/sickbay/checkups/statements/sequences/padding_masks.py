"""The masks in a batch that drop padding."""

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch
from sickbay.model_copies import parts_of

KEEP = ("attention_mask", "valid_mask")  # 1 means keep
DROP = ("key_padding_mask", "src_key_padding_mask", "padding_mask", "pad_mask")  # True means drop
EITHER = ("mask", "src_mask", "input_mask", "token_mask", "seq_mask", "key_mask", "x_mask")
LENGTHS = ("lengths", "length", "seq_lens", "seq_lengths", "input_lengths", "x_lens", "lens")
NAMES = (*KEEP, *DROP, *EITHER, *LENGTHS)


@dataclass(frozen=True, eq=False)
class Masked:
    """A call in which a mask drops a part of the last sample.

    Attributes:
        name: The argument that holds the mask.
        batch: The batch with the mask.
        dropped: The positions of the last sample that it drops, apart from those given.
        token: The value of padding in the batch, None if unknown.
    """

    name: str
    batch: Batch
    dropped: slice
    token: Tensor | None = None


def given_masks(model: nn.Module, batch: Batch) -> Iterator[Masked]:
    """Yield calls with each mask in a batch, also in a nested one, made to drop more."""
    size, length = batch.main.shape[:2]
    for name, given in _named(_arguments(model, batch)):
        if name in LENGTHS:
            dropped = slice(_kept(length), length)
            yield Masked(name, batch.with_input(given, _lengths(batch, dropped).to(given)), dropped)
        elif name in NAMES and given.shape[:1] == (size,) and given.shape[-1] == length:
            yield from _masks_like(name, given, batch)


def _masks_like(name: str, given: Tensor, batch: Batch) -> Iterator[Masked]:
    """Yield masks of the same kind as a given one that also drop a part of the last sample."""
    size, length = batch.main.shape[:2]
    added = given.is_floating_point() and not given.max() > 0  # to scores
    if not added and not bool(((given == 0) | (given == 1)).all()):
        return
    for keeps in [False] if added else _senses(name, given, batch):
        drops = given < 0 if added else (given == 0) == keeps
        rows = drops.reshape(size, -1, length).all(dim=1)
        left = rows[:, 0].count_nonzero() > rows[:, -1].count_nonzero()
        others = int((~rows[:-1]).sum(dim=1).min())  # so that the mask of another sample leaks
        kept = max(1, min(_kept(length), others - 1))
        dropped = slice(0, length - kept) if left else slice(kept, length)
        more = torch.zeros(size, length, dtype=torch.bool, device=given.device)
        more[:, 0 if left else -1] = True
        more[-1, dropped] = True
        more = more.view(size, *[1] * (given.ndim - 2), length).expand_as(given)
        value = torch.finfo(given.dtype).min if added else int(not keeps)
        masked = batch.with_input(given, given.masked_fill(more, value))
        yield Masked(name, masked, dropped, _token(batch.main, rows))


def _senses(name: str, given: Tensor, batch: Batch) -> list[bool]:
    """Return whether 1 means keep, or both if neither the name nor the batch tells."""
    if name not in EITHER:
        return [name in KEEP]
    if bool((given == given.flatten()[0]).all()):  # nothing is padding
        return [bool(given.any())]
    size, length = batch.main.shape[:2]
    ones = (given != 0).reshape(size, -1, length)
    padded = {keeps: _is_constant(batch.main[(ones != keeps).all(1)]) for keeps in (True, False)}
    return [keeps for keeps in padded if padded[keeps]] if any(padded.values()) else [*padded]


def _is_constant(values: Tensor) -> bool:
    return bool((values == values[:1]).all()) and values.shape[0] > 0


def _token(main: Tensor, dropped: Tensor) -> Tensor | None:
    """Return the value that all dropped positions have, None if there is none."""
    if main.is_floating_point() or main.shape != dropped.shape or not dropped.any():
        return None
    values = main[dropped]
    return values[0] if bool((values == values[0]).all()) else None


def _lengths(batch: Batch, dropped: slice) -> Tensor:
    size, length = batch.main.shape[:2]
    lengths = torch.full((size,), length, device=batch.main.device)
    lengths[-1] = dropped.start
    return lengths


def _kept(length: int) -> int:
    return length - max(1, length // 3)


def _arguments(model: nn.Module, batch: Batch) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    try:
        return signature(model.forward).bind_partial(*batch.args, **batch.kwargs).arguments
    except (TypeError, ValueError):
        return dict(batch.kwargs)


def _named(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in a nested value, each with the nearest name."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _named(each, name)
    else:
        for key, each in parts_of(value).items():
            yield from _named(each, str(key))
