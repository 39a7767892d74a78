from dataclasses import dataclass

import torch
from torch import nn

from sickbay.checkups.attention import Attention
from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.context_length import context_of
from sickbay.checkups.output_shape import odd_shape, output_shape
from sickbay.checkups.report import Result
from sickbay.checkups.sample_dimension import ungraphed
from sickbay.checkups.sequences import resized, time_of

SIZES = (1, 3)
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
        if case.rigid:
            return self.fails(f"the model runs with {case.whole.size} samples only")
        with case.patient() as model:
            two = _rows(batch, 2)
            usual = output_shape(case, model, two)
            for count in SIZES:
                if why := odd_shape(case, model, _rows(batch, count), usual, (2, count), must=True):
                    return self.fails(f"a batch of {count} {why}")
        lengths, why = self._lengths(case, two)
        if why:
            return self.fails(why)
        told = f" and lengths of {', '.join(map(str, lengths))}" if lengths else ""
        return self.holds(f"batches of 1, 2 and 3{told} gave outputs that fit")

    def _lengths(self, case: Case, batch: Batch) -> tuple[list[int], str]:
        """Return the lengths that were tried, and what is wrong with one."""
        full, time = _length(case)
        listed = any(not each.is_floating_point() and each.ndim == 1 for each in batch.inputs)
        if full < 4 or listed or any(isinstance(each, LOCAL) for each in case.model.modules()):
            return [], ""
        half = full // 2
        with case.patient() as model:
            usual, watch = output_shape(case, model, batch), Attention(model)

            def odd(length: int) -> str:
                changed = resized(batch, time, length)
                return odd_shape(case, model, changed, usual, (full, length))

            with watch:
                why = odd(half)
            if why:  # made for one length, which is sound, unless it is the mask that does not fit
                return [
                    half
                ], f"a length of {half} {why}, in {watch.broken}" if watch.broken else ""
            lengths = [half, 1, *context_of(case, full)]
            for length in lengths[1:]:
                why = odd(length)
                if why and not (length == 1 and odd(full - 1)):  # which may take multiples only
                    return lengths, f"a length of {length} {why}, while {half} runs"
        return lengths, ""


def _rows(batch: Batch, count: int) -> Batch:
    return batch.rows(torch.arange(count) % batch.size)


def _length(case: Case) -> tuple[int, int]:
    """Return how long sequences are, 0 if the inputs are none, and in which dimension."""
    try:
        time = time_of(case)
    except Inapplicable:
        return 0, 0
    return case.batch.main.shape[time], time
