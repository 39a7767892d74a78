from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.output_difference import difference
from sickbay.checkups.report import Result
from sickbay.checkups.unregistered import unregistered
from sickbay.checkups.unsaved_state import unsaved
from sickbay.checkups.wake_zero_weights import awake
from sickbay.checkups.wording import several
from sickbay.isolated_random import IsolatedRandom
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class SurvivesSaving(Statement):
    """The model is the same after its state was saved and loaded.

    Why it matters:
        What is not in the state dict is lost with the process that has trained it.

    How it is tested:
        The state dict is saved, all that is trained is changed, and the state is loaded again. The
        output in evaluation must be what it was. After a pass in training, another copy that is
        given the state must put out the same.
    """

    remedy = "hold what is to be kept in nn.Parameter, register_buffer or nn.ModuleList"

    slack: float = threshold(1e-4, "Difference of the outputs, against their size.", above=0)

    def examine(self, case: Case) -> Result:
        _ = case.seen
        if (change := unsaved(case)) > self.slack:
            message = f"the output differs by {change:.2g} of its size (limit {self.slack:g})"
            message += ": what a pass in training changes is not in the state dict"
            return self.fails(message, difference=change)
        with case.patient() as model:
            hidden = unregistered(model)
            values = {name: each.detach().clone() for name, each in hidden.items()}
            try:
                return self._compared(case, model, hidden)
            finally:
                with torch.no_grad():
                    for name, each in hidden.items():
                        each.copy_(values[name])

    def _compared(self, case: Case, model: nn.Module, hidden: Mapping[str, Tensor]) -> Result:
        awake(model)
        before, file = _answer(case, model), BytesIO()
        if difference(before, _answer(case, model)) > self.slack:
            raise Inapplicable("the output differs from pass to pass")
        torch.save(model.state_dict(), file)
        state = torch.load(BytesIO(file.getvalue()), weights_only=False)
        _scramble(model, state, hidden)
        try:
            model.load_state_dict(state)
        except RuntimeError as error:
            return self.fails(f"load_state_dict raised: {' '.join(str(error).split())}")
        change = difference(before, _answer(case, model))
        if change <= self.slack:
            return self.holds(f"{len(state)} tensors were saved and loaded", difference=change)
        names = [*hidden, *(name for name, _ in model.named_parameters() if name not in state)]
        what = f": {several(names, None, 'is', 'are')} not in the state dict" if names else ""
        message = f"the output differs by {change:.2g} of its size (limit {self.slack:g}){what}"
        return self.fails(message, layers=names, difference=change)


def _answer(case: Case, model: nn.Module) -> Tensor:
    with IsolatedRandom(0):
        return case.evaluated(case.few, model)


def _scramble(model: nn.Module, state: Mapping[str, Any], hidden: Mapping[str, Tensor]) -> None:
    """Change all that is trained or saved; constants are made anew with a model."""
    buffers = [each for name, each in model.named_buffers() if name in state]
    with torch.no_grad():
        for each in (*model.parameters(), *buffers, *hidden.values()):
            if each.is_floating_point():
                each.add_(torch.randn_like(each) * (each.abs().max() + 0.1))
            else:
                each.logical_not_()
