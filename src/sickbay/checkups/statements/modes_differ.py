from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.modes import active, stuck
from sickbay.checkups.output_difference import difference
from sickbay.checkups.report import Result
from sickbay.checkups.wake_zero_weights import awake
from sickbay.checkups.wording import several
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import tensors_in


@dataclass(frozen=True, kw_only=True)
class ModesDiffer(Statement):
    """Layers that train and evaluate differently follow the mode of the model.

    Why it matters:
        Dropout or batch norm in the wrong mode spoils either the training or every score.

    How it is tested:
        After `model.train()` and `model.eval()` every such layer must be in that mode; frozen ones
        may stay in evaluation. If one of them runs, the outputs of the two modes must differ.
    """

    severity = "warning"
    remedy = "look for an own train() or eval(), or layers that are set to a mode by hand"

    def examine(self, case: Case) -> Result:
        _ = case.seen
        for training, other in ((True, "evaluation"), (False, "training")):
            with case.patient(training=training) as model:
                if names := stuck(model, training):
                    message = f"{several(names, None, 'stays', 'stay')} in {other} mode"
                    return self.fails(message, layers=names, stuck=len(names))
        change, ran, forced = self._compared(case)
        if forced:
            message = (
                f"{several(forced, None, 'is', 'are')} set to evaluation while running in training"
            )
            return self.fails(message, layers=forced, stuck=len(forced))
        if not ran:
            raise Inapplicable("no layer with dropout or batch norm is run")
        if not change:
            message = f"{several(ran, None, 'is', 'are')} run, but both modes give the same output"
            return self.fails(message, layers=ran, difference=change)
        message = f"{len(ran)} layers make the output of the two modes differ"
        return self.holds(message, difference=change)

    @staticmethod
    def _compared(case: Case) -> tuple[float, list[str], list[str]]:
        """Return how far the outputs are apart, and which layers run in training.

        These are in training mode; beside them, those that were before the pass, and are no more.
        """
        ran: dict[str, bool] = {}
        with case.patient() as model, ExitStack() as hooks:
            awake(model)
            for name, layer in active(model).items():
                hooks.enter_context(layer.register_forward_hook(partial(_note, ran, name)))
            usual = _outputs(case, model, training=False)
            ran.clear()
            model.train()
            meant = {name for name, layer in active(model).items() if layer.training}
            other = _outputs(case, model, training=True)
        apart = max(map(difference, usual, other), default=0.0)
        forced = [name for name, training in ran.items() if name in meant and not training]
        return apart, [name for name, training in ran.items() if training], forced


def _outputs(case: Case, model: nn.Module, training: bool) -> list[Tensor]:
    model.train() if training else model.eval()
    with IsolatedRandom(0), torch.no_grad():
        found = tensors_in(case.run(model, case.few))
    return [each for each in found if each.is_floating_point()]


def _note(ran: dict[str, bool], name: str, layer: nn.Module, *_: Any) -> None:
    ran[name] = layer.training
