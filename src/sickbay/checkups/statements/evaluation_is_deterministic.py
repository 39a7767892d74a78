from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Statement
from sickbay.checkups.case import Case
from sickbay.checkups.output_difference import difference
from sickbay.checkups.random_draws import Draws
from sickbay.checkups.report import Result
from sickbay.checkups.wording import several
from sickbay.isolated_random import IsolatedRandom
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class EvaluationIsDeterministic(Statement):
    """In evaluation the same batch gives the same output.

    Why it matters:
        Noise in evaluation lowers every score and makes two models hard to compare.

    How it is tested:
        Two samples are run twice in evaluation, with other random numbers. A model may differ that
        samples from what it has learnt, as a variational one, or keeps a state between batches.
    """

    remedy = "give self.training to functional.dropout, and add noise only if self.training"

    slack: float = threshold(1e-4, "Difference of the outputs, against their size.", above=0)

    def examine(self, case: Case) -> Result:
        _ = case.seen
        with case.patient() as model:
            kept = {name: each.detach().clone() for name, each in model.named_buffers()}
            first, second = (self._answer(case, model, seed) for seed in (1, 2))
            changed = [
                name for name, each in model.named_buffers() if not each.equal(kept.get(name, each))
            ]
        change = difference(first, second)
        if change <= self.slack:
            return self.holds("two passes gave the same output", difference=change)
        draws = self._draws(case)
        what = f"two passes differ by {change:.2g} of the output's size (limit {self.slack:g})"
        if draws.noise:
            layers = [layer for layer, _ in draws.noise]
            kinds = ", ".join(dict.fromkeys(kind for _, kind in draws.noise))
            message = f"{what}: {kinds} in {several(layers)}"
            return self.fails(message, layers=layers, difference=change)
        if draws.sampled:
            return self.holds("the output differs, as the model samples", difference=change)
        if changed:
            message = f"{what}: {several(changed)} changes in evaluation"
            return self.fails(message, layers=changed, difference=change)
        with case.patient() as model:
            again = difference(first, self._answer(case, model, 2))
        if again <= self.slack:
            return self.holds("the output differs, as the model keeps a state", difference=change)
        return self.fails(what, difference=change)

    @staticmethod
    def _answer(case: Case, model: nn.Module, seed: int) -> Tensor:
        with IsolatedRandom(seed):
            return case.evaluated(case.few, model)

    @staticmethod
    def _draws(case: Case) -> Draws:
        with case.patient() as model, torch.enable_grad():
            draws = Draws(model)
            with draws:
                raw = case.run(model, case.few)
            draws.put_out(raw)
        return draws
