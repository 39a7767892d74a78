from dataclasses import dataclass
from math import isqrt
from re import search

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.changed_inputs import altered, answer, countable, differ, replaced
from sickbay.checkups.report import Result
from sickbay.checkups.sequences import by_place, time_of

SETS = r"Set|Point|Graph|Node|Slot|GAT|GNN"  # what a model for unordered things is called


@dataclass(frozen=True, kw_only=True)
class UsesPositions(Statement):
    """A model that attends tells the order of its inputs.

    Why it matters:
        Attention alone sees a bag of tokens: "dog bites man" is "man bites dog".

    How it is tested:
        The places of a sequence, or the patches of an image, are put into another order. The output
        must be neither the same nor merely in that order. Weights are nudged before, so that
        positions may be learnt from zero.
    """

    severity = "warning"
    remedy = "add a position embedding of shape (1, length, width) to the inputs of the attention"

    def examine(self, case: Case) -> Result:
        _ = case.seen
        if not case.attention.seen:
            raise Inapplicable("no attention was seen")
        if type(case.model).__module__.startswith("torch.nn."):
            raise Inapplicable("positions may be in the inputs of such a part")
        if any(search(SETS, type(each).__name__) for each in case.model.modules()):
            raise Inapplicable("the model is one for things without an order")
        batch = countable(case.batch)
        main = batch.main
        if main.ndim == 4:
            new = _swapped(main, _patch(case.model, main.shape[1]))
            return self._judged(case, batch, answer(case, batch), new, None)
        time = time_of(case)
        length = main.shape[time]
        others = [each for each in batch.inputs if each is not main and length in each.shape]
        if length < 3 or any(bool((each != each.flatten()[0]).any()) for each in others):
            raise Inapplicable("the sequences are short, or masks go with them")
        before = answer(case, batch)
        if not self._mixes(case, batch, before, time):
            raise Inapplicable("no place of the input changes the outputs of another")
        order = torch.arange(length, device=main.device).roll(1)
        return self._judged(case, batch, before, main.index_select(time, order), order)

    def _judged(
        self, case: Case, batch: Batch, before: Tensor, new: Tensor, order: Tensor | None
    ) -> Result:
        after = answer(case, replaced(batch, batch.main, new))
        what = "the same outputs"
        if order is not None:
            one, other = (
                by_place(each, batch.size, len(order), batch.along) for each in (before, after)
            )
            if one is not None and other is not None:
                before, after, what = one[:, order], other, "the same outputs in that order"
        if differ(before, after).any():
            return self.holds("inputs in another order gave other outputs")
        return self.fails(f"inputs in another order gave {what}")

    def _mixes(self, case: Case, batch: Batch, before: Tensor, time: int) -> bool:
        """Tell whether a place changes what comes out at others, or what is pooled."""
        main, new = batch.main, batch.main.clone()
        new.select(time, 0).copy_(altered(main).select(time, 0))
        outputs = before, answer(case, replaced(batch, main, new))
        length = main.shape[time]
        one, other = (by_place(each, batch.size, length, batch.along) for each in outputs)
        if one is None or other is None:
            return True
        return bool(differ(one, other)[:, 1:].any())


def _patch(model: nn.Module, channels: int) -> int:
    """Return the side of the patches that an image is cut into first."""
    convolutions = [each for each in model.modules() if isinstance(each, nn.Conv2d)]
    if not convolutions:
        widths = [each.in_features for each in model.modules() if isinstance(each, nn.Linear)]
        sides = ((isqrt(width // channels), width) for width in widths)
        found = [side for side, width in sides if side > 1 and side**2 * channels == width]
        if found:
            return found[0]
    if len(convolutions) != 1 or convolutions[0].kernel_size != convolutions[0].stride:
        raise Inapplicable("the inputs are no sequences, nor images cut into patches")
    return int(convolutions[0].stride[0])


def _swapped(images: Tensor, side: int) -> Tensor:
    """Return images with their patches moved on by one, all round."""
    if images.shape[-1] % side or images.shape[-2] % side or images.shape[-1] <= side:
        raise Inapplicable("the images are not cut into patches")
    return images.roll(side, dims=-1)
