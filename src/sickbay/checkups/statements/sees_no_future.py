from dataclasses import dataclass

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.changed_inputs import altered, answer, countable, differ, replaced
from sickbay.checkups.first_pass import main_output
from sickbay.checkups.report import Result
from sickbay.checkups.sequences import by_place, next_of, time_of
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class SeesNoFuture(Statement):
    """No output of a model that predicts what comes next depends on what comes next.

    Why it matters:
        A model that sees the answer copies it: the loss is splendid and the model of no use.

    How it is tested:
        Later places of the input are changed; outputs at earlier places must stay as they are.
        It is asked of a model whose targets are its inputs shifted by one, or that attends
        backwards nearly everywhere. The target of a place must not be its own input.
    """

    remedy = "mask with torch.ones(L, L).tril(), pad convolutions on the left, shift the targets"
    most: float = threshold(0.5, "Share of earlier places that a slip may reach.", above=0)

    def examine(self, case: Case) -> Result:
        _ = case.seen
        time = time_of(case)
        batch = countable(case.batch)
        places = [each for each in batch.inputs if each.shape == batch.main.shape]
        told = [next_of(each, batch.targets, time) for each in places]
        shown = places[told.index("next")] if "next" in told else batch.main
        aim = "next" if "next" in told else told[0]
        length = shown.shape[time]
        if length < 4:
            raise Inapplicable(f"the sequences have {length} places")
        counts = self._last_counts(case, batch, time) if aim == "same" else None
        # The loss may shift the targets itself.
        aim = "next" if counts is False or case.predicts else aim
        cut = length // 2
        back, on = self._reach(
            case, batch, shown, time, (cut, length if aim == "next" else cut + 1)
        )
        if counts and not back.any() and on[0]:
            return self.fails("the target of each place is its own input, which the model sees")
        slips = 0 < back.float().mean() <= self.most and on.all() and case.attention.seen
        if aim != "next" and not slips and (back.any() or not on.any()):
            raise Inapplicable("the model looks both ways, or its outputs are no predictions")
        if not back.any():
            return self.holds(f"later places changed none of {cut} earlier outputs")
        changed = int(back.sum())
        message = f"changing what comes after changed {changed} of {cut} earlier outputs"
        return self.fails(message, changed=changed, earlier=cut)

    def _reach(
        self, case: Case, batch: Batch, shown: Tensor, time: int, part: tuple[int, int]
    ) -> tuple[Tensor, Tensor]:
        """Tell which earlier and which later outputs change with a part of the input."""
        start, length = part[0], shown.shape[time]
        places = torch.arange(length, device=shown.device)
        inside = (places >= start) & (places < part[1])
        inside = inside.view([-1 if each == time else 1 for each in range(shown.ndim)])
        new = torch.where(inside, altered(shown), shown)
        outputs = answer(case, batch), answer(case, replaced(batch, shown, new))
        before, after = (by_place(each, batch.size, length, batch.along) for each in outputs)
        if before is None or after is None:
            raise Inapplicable("the outputs have no places")
        changed = differ(before, after).any(dim=2).any(dim=0)
        return changed[:start], changed[start:]

    def _last_counts(self, case: Case, batch: Batch, time: int) -> bool | None:
        """Tell whether the loss looks at the last place, as one that shifts targets does not."""
        with case.patient() as model:
            raw = case.run(model, batch)
            output, loss = main_output(raw), case.loss_of(raw, batch)
            if loss is None or not output.requires_grad:
                return None
            slope = torch.autograd.grad(loss, output, allow_unused=True)[0]
        length = batch.main.shape[time]
        places = None if slope is None else by_place(slope, batch.size, length, batch.along)
        return None if places is None else bool(places[:, -1].any())
