from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.loss_levels import Levels, ignores_targets, levels
from sickbay.checkups.memorising import Attempt, memorise, varied
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold

STILL = 1e-3  # share of a loss that is no fall at all
SAME = 0.05  # share of what chance loses that is next to nothing
BLIND = 0.98  # share of the blind loss that is not better
HASTY = 10  # steps that say nothing if they were all there was time for


@dataclass(frozen=True, kw_only=True)
class OverfitsOneBatch(Statement):
    """The model can learn a few samples by heart.

    Why it matters:
        What cannot fit a few samples cannot fit a data set.

    How it is tested:
        The loss must be lower for perfect answers than for chance. Then a copy without dropout is
        trained on `samples` samples with Adam, at up to three rates. Of what the best answer that
        is the same for all samples loses, `fraction` may be left; with more than `few` targets, or
        if it still falls, it must only get better than that answer, with more than `many`, a loss
        that is not known, or when time is over, only fall.
    """

    remedy = "look for a cut gradient, frozen layers, a wrong loss, or an output that cannot fit"

    samples: int = threshold(4, "Samples to be learnt.", least=2)
    steps: int = threshold(100, "Steps with each rate.", least=1)
    seconds: float = threshold(4.0, "Time for all of it.", above=0)
    fraction: float = threshold(0.5, "Share of the blind loss that may be left.", above=0)
    clear: float = threshold(0.1, "Share of the first loss that is a clear fall.", above=0)
    few: int = threshold(64, "Targets that can be learnt in so few steps.", least=1)
    many: int = threshold(1024, "Targets of which nothing can be learnt in so few steps.", least=1)

    def examine(self, case: Case) -> Result:
        seen = case.seen
        if not seen.compared:
            raise Inapplicable("no targets were given")
        if not isfinite(seen.loss.item()):
            raise Inapplicable("the loss is not finite")
        if not any(each.requires_grad for each in case.model.parameters()):
            return self._untrainable(case)
        if all(each is None for each in seen.gradients.values()):
            return self.fails("no parameter gets a gradient from the loss")
        if any(each.dtype == torch.float16 for each in case.model.parameters()):
            raise Inapplicable("weights in float16 cannot be trained by themselves")
        batch = varied(case.batch, self.samples)
        output = case.evaluated(batch)
        known = _levels(case, batch, output)
        if known and known.best >= known.chance - STILL * abs(known.chance):
            message = f"perfect answers lose {known.best:.3g}, chance only {known.chance:.3g}"
            return self.fails(message, remedy="look at the loss: its sign, and what it compares")
        if ignores_targets(case, batch, output):
            return self.fails("the loss is the same for other targets", remedy="look at the loss")
        goal = partial(self._goal, known)
        return self._judged(memorise(case, batch, goal, self.steps, self.seconds), known, batch)

    def _goal(self, known: Levels | None, start: float) -> float:
        if known is None:
            return start - self.clear * abs(start)
        first, blind = start - known.best, known.blind - known.best
        same = blind < SAME * (known.chance - known.best)  # so are the targets
        if same:
            return known.best + self.fraction * first
        return known.best + min(self.fraction * blind, (1 - self.clear) * first)

    def _judged(self, attempt: Attempt, known: Levels | None, batch: Batch) -> Result:
        start, lowest = attempt.start, attempt.lowest
        fall, size = start - lowest, start - known.best if known else abs(start)
        went = f"the loss of {batch.size} samples went from {start:.3g} to {lowest:.3g}"
        went += f" in {attempt.steps} steps"
        numbers: dict[str, Any] = {"start": start, "lowest": lowest, "steps": attempt.steps}
        if attempt.reached:
            return self.holds(went, **numbers)
        if fall <= STILL * size and not (attempt.late and attempt.steps < HASTY):
            return self.fails(f"{went}: it does not move", **numbers)
        if attempt.late and fall > self.clear * size:
            return self.holds(f"{went}, when time was over", **numbers)
        count = 0 if batch.targets is None else batch.targets.numel()
        if attempt.late or known is None or count > self.many:
            raise Inapplicable("too slow to tell")
        limit = known.best + BLIND * (known.blind - known.best)
        if lowest < limit and (count > self.few or attempt.falling):
            raise Inapplicable("too slow to tell")
        limit = self._goal(known, start) if count <= self.few else limit
        why = ": there are equal inputs with different targets" if _torn(batch) else ""
        return self.fails(f"{went}; {limit:.3g} was to be reached{why}", **numbers)

    def _untrainable(self, case: Case) -> Result:
        if not any(True for _ in case.model.parameters()):
            raise Inapplicable("the model has no parameters")
        return self.fails("no parameter is trainable: all have requires_grad=False")


def _levels(case: Case, batch: Batch, output: Tensor) -> Levels | None:
    try:
        return levels(case, batch, output)
    except Inapplicable:
        return None


def _torn(batch: Batch) -> bool:
    """Tell whether there are equal inputs."""
    rows = batch.main.movedim(batch.along, 0).flatten(1)
    return len(torch.unique(rows, dim=0)) < batch.size
