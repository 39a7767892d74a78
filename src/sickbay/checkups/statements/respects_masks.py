from dataclasses import dataclass

import torch

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.changed_inputs import altered, answer, countable, differ, replaced
from sickbay.checkups.masks import Mask, masks
from sickbay.checkups.report import Result
from sickbay.checkups.sample_dimension import by_sample
from sickbay.checkups.sequences import by_place


@dataclass(frozen=True, kw_only=True)
class RespectsMasks(Statement):
    """What is masked out does not change what is not.

    Why it matters:
        Padding that is read as data makes the output depend on the company of a sample.

    How it is tested:
        The last third of one sample is masked out, by the mask argument of the model, and changed
        then. The outputs of that sample's other places must stay as they are. A key_padding_mask
        leaves out what is True, an attention_mask what is 0, a plain mask what the given one has
        less of, either of both if none is given.
    """

    remedy = "hand the mask to the attention and the pooling; mind whether True means keep or leave"

    def examine(self, case: Case) -> Result:
        _ = case.seen
        batch = countable(case.batch)
        main = batch.main
        if main.ndim not in (2, 3) or batch.along or main.shape[1] < 3 or _flat(case):
            raise Inapplicable("the inputs are no sequences")
        length = main.shape[1]
        kept = length - max(1, length // 3)
        new = main.clone()
        new[-1, kept:] = altered(main)[-1, kept:]
        leaks: list[tuple[Mask, int]] = []
        for mask in masks(case.model, batch, kept):
            try:
                before = answer(case, mask.batch)
                after = answer(case, replaced(mask.batch, main, new))
            except Inapplicable:  # it wants a mask of another kind
                continue
            places = by_place(differ(before, after), batch.size, length)
            rows = by_sample(differ(before, after), batch.size, 0)
            if places is None and not rows:
                raise Inapplicable("the outputs do not count samples")
            changed = places[-1, :kept].any(dim=-1) if places is not None else rows[0][-1:]
            if not changed.any():
                return self.holds(f"what {mask.name} leaves out changed no other output")
            leaks.append((mask, int(torch.count_nonzero(changed))))
        if not leaks:
            raise Inapplicable("the model takes no mask that could be made up")
        mask, changed_places = leaks[0]
        message = f"what {mask.name} leaves out changed {changed_places} outputs of what it keeps"
        return self.fails(message, changed=changed_places)


def _flat(case: Case) -> bool:
    """Tell whether inputs are samples by features, without places."""
    main = case.batch.main
    return main.is_floating_point() and main.ndim == 2
