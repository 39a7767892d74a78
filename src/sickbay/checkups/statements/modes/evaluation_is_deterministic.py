from dataclasses import dataclass

import torch

from sickbay.checkups.base import Statement
from sickbay.checkups.compare_outputs import difference, seeded_output
from sickbay.checkups.statements.modes.random_draws import RandomDraws
from sickbay.checkups.training_setup import Setup
from sickbay.checkups.wording import several
from sickbay.reports.checkup_report import Result
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class EvaluationIsDeterministic(Statement):
    """In evaluation the same batch gives the same output.

    Why it matters:
        Noise in evaluation lowers every score and makes models hard to compare.

    How it is tested:
        Two samples run twice in evaluation with different random numbers. Outputs may differ if the
        model samples from what it has learned, as a variational one, or keeps a state.
    """

    order = 3
    remedy = "pass self.training to functional.dropout, and add noise only if self.training"

    slack: float = threshold(1e-4, "Difference of the outputs, relative to their size.", above=0)

    def examine(self, setup: Setup) -> Result:
        _ = setup.first_pass
        with setup.model_copy() as model:
            before = {name: each.detach().clone() for name, each in model.named_buffers()}
            first, second = (
                seeded_output(setup, model, setup.two_samples, seed) for seed in (1, 2)
            )
            buffers = model.named_buffers()
            changed = [name for name, each in buffers if not each.equal(before.get(name, each))]
        change = difference(first, second)
        if change <= self.slack:
            return self.holds("two passes gave the same output", difference=change)
        draws = _random_draws(setup)
        message = f"two passes differ by {change:.2g} of the output's size (limit {self.slack:g})"
        if draws.noise:
            layers = [layer for layer, _ in draws.noise]
            operations = ", ".join(dict.fromkeys(operation for _, operation in draws.noise))
            message = f"{message}: {operations} in {several(layers)}"
            return self.fails(message, layers=layers, difference=change)
        if draws.sampled:
            return self.holds("the output differs because the model samples", difference=change)
        if changed:
            message = f"{message}: {several(changed, None, 'changes', 'change')} in evaluation"
            return self.fails(message, layers=changed, difference=change)
        with setup.model_copy() as model:
            again = difference(first, seeded_output(setup, model, setup.two_samples, 2))
        if again <= self.slack:
            message = "the output differs because the model keeps a state"
            return self.holds(message, difference=change)
        return self.fails(message, difference=change)


def _random_draws(setup: Setup) -> RandomDraws:
    with setup.model_copy() as model, torch.enable_grad():
        draws = RandomDraws(model)
        with draws:
            raw = setup.run(model, setup.two_samples)
        draws.finish(raw)
    return draws
