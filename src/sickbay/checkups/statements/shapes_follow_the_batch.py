from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from sickbay.checkups.attention import Attention
from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.context import context_of
from sickbay.checkups.report import Result
from sickbay.checkups.samples import ungraphed
from sickbay.checkups.sequences import resized, time_of
from sickbay.surgery.patient import tensors_in

Shape = tuple[int, ...]
SIZES = (1, 2, 3)
LOCAL = (nn.Conv1d, nn.Conv2d, nn.MaxPool1d, nn.AvgPool1d)  # they need a least length


@dataclass(frozen=True, kw_only=True)
class ShapesFollowTheBatch(Statement):
    """Batches of other sizes and sequences of other lengths run, and the output follows them.

    Why it matters:
        The last batch of an epoch is smaller, and in use there is one sample of any length.

    How it is tested:
        Batches of 1, 2 and 3 samples in evaluation. Where half the length of a sequence runs, so
        must one place and all places that the position embedding has.
    """

    remedy = "take sizes from x.shape, name the dimension of squeeze, cut masks to the length"

    def examine(self, case: Case) -> Result:
        _ = case.seen
        batch = ungraphed(case.batch)
        with case.patient() as model:
            usual = _shape(case, model, batch)
            for count in SIZES:
                some = batch.rows(torch.arange(count) % batch.size)
                if why := _odd(case, model, some, usual, (batch.size, count), must=True):
                    return self.fails(f"a batch of {count} {why}")
        try:
            lengths, why = self._lengths(case, batch.first(2))
        except Inapplicable:
            lengths, why = [], ""
        if why:
            return self.fails(why)
        told = f" and lengths of {', '.join(map(str, lengths))}" if lengths else ""
        return self.holds(f"batches of 1, 2 and 3{told} gave outputs that fit")

    def _lengths(self, case: Case, batch: Batch) -> tuple[list[int], str]:
        """Return the lengths that were tried, and what is wrong with one."""
        time = time_of(case)
        full = batch.main.shape[time]
        listed = any(not each.is_floating_point() and each.ndim == 1 for each in batch.inputs)
        if full < 4 or listed or any(isinstance(each, LOCAL) for each in case.model.modules()):
            return [], ""
        with case.patient() as model:
            usual, watch = _shape(case, model, batch), Attention(model)
            with watch:
                why = _odd(case, model, resized(batch, time, full // 2), usual, (full, full // 2))
            if why:  # made for one length, which is sound, unless it is the mask that does not fit
                mask = f"a length of {full // 2} {why}, in {watch.broken}" if watch.broken else ""
                return [full // 2], mask
            lengths = [full // 2, 1, *context_of(case, full)]
            for length in lengths[1:]:
                why = _odd(case, model, resized(batch, time, length), usual, (full, length))
                odd = length == 1 and _odd(
                    case, model, resized(batch, time, full - 1), usual, (full, full - 1)
                )
                if why and not odd:  # odd: it takes multiples of some length
                    return lengths, f"a length of {length} {why}, while {full // 2} runs"
        return lengths, ""


def _shape(case: Case, model: nn.Module, batch: Batch) -> Shape:
    """Return the shape of what a model puts out; () if that is one number."""
    with torch.no_grad():
        raw: Any = case.run(model, batch)
    logits = raw.get("logits") if isinstance(raw, dict) else None
    found = [each for each in tensors_in(raw) if each.is_floating_point()]
    wide = [each for each in found if each.ndim] or found
    return tuple((logits if logits is not None else wide[0]).shape)


def _odd(
    case: Case,
    model: nn.Module,
    batch: Batch,
    usual: Shape,
    sizes: tuple[int, int],
    *,
    must: bool = False,
) -> str:
    """Say what is wrong with the output where a size goes from one to another; "" if nothing."""
    try:
        shape = _shape(case, model, batch)
    except Exception as error:
        said = str(error).strip().splitlines() or [""]
        return f"raises {type(error).__name__}: {said[-1]}"
    old, new = sizes
    pairs = list(zip(usual, shape, strict=False))
    moved = [b * old == a * new for a, b in pairs]
    fits = len(usual) == len(shape) and all(
        a == b or move for (a, b), move in zip(pairs, moved, strict=True)
    )
    if fits and (not must or any(moved)):
        return ""
    return f"gives an output of shape {shape}, where {old} give {usual}"
