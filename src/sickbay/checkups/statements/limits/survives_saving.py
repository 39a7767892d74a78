"""Longer than 60 lines: state that training changes and state that is saved are tested apart."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.compare_outputs import difference, fill_zero_weights
from sickbay.checkups.unregistered import random_constants, unregistered
from sickbay.checkups.wording import several
from sickbay.isolated_random import IsolatedRandom

REGISTER = "save it with register_buffer, unless it is always computed or drawn alike"


@dataclass(frozen=True, kw_only=True)
class SurvivesSaving(Statement):
    """The model is the same after its state is saved and loaded.

    Why it matters:
        What is missing from the state dict is lost when the training process ends.

    How it is tested:
        The state dict is saved, everything that is trained is changed, and the state is loaded
        again. The output in evaluation mode must be the same as before. After a pass in training,
        another copy that loads the state must give the same output. It is a warning if the output
        depends on a matrix that is not saved and looks drawn at random, since a new model may draw
        the same one or another.
    """

    order = 3
    remedy = "keep state in nn.Parameter, register_buffer or nn.ModuleList"

    slack: float = threshold(1e-4, "Difference of the outputs, relative to their size.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        if (change := _unsaved_change(setup)) > self.slack:
            why = ": the state dict lacks what a pass in training changes"
            return self.fails(self._message(change, why), difference=change)
        with setup.model_copy() as model:
            return self._save_and_load(setup, model)

    def _save_and_load(self, setup: ModelSetup, model: nn.Module) -> Result:
        fill_zero_weights(model)
        batch, file, extra = setup.two_samples, BytesIO(), unregistered(model)
        drawn = random_constants(model)
        before = setup.seeded_output(model, batch)
        if difference(before, setup.seeded_output(model, batch)) > self.slack:
            raise Inapplicable("the output differs from pass to pass")
        torch.save(model.state_dict(), file)
        file.seek(0)
        state = torch.load(file, weights_only=False)
        file.close()  # it is as large as the model
        _scramble(model, state, extra)
        try:
            model.load_state_dict(state)
        except Exception as error:
            return self.fails(f"load_state_dict raised: {' '.join(str(error).split())}")
        change = difference(before, setup.seeded_output(model, batch))
        if change > self.slack:
            names = [*extra, *(name for name, _ in model.named_parameters() if name not in state)]
            why = f": {several(names, None, 'is', 'are')} not in the state dict" if names else ""
            return self.fails(self._message(change, why), layers=names, difference=change)
        with _drawn_anew(drawn.values()):
            again = difference(before, setup.seeded_output(model, batch))
        if again > self.slack:
            message = (
                f"{several([*drawn], None, 'looks random and is', 'look random and are')} not saved"
            )
            result = self.fails(message, layers=drawn, remedy=REGISTER, difference=again)
            return replace(result, severity="warning")
        return self.holds(f"{len(state)} tensors were saved and loaded", difference=change)

    def _message(self, change: float, why: str) -> str:
        return f"the output differs by {change:.2g} of its size (limit {self.slack:g}){why}"


def _unsaved_change(setup: ModelSetup) -> float:
    """Return how much a model after a training pass differs from a copy that loads its state.

    It is 0 for a model that also changes in evaluation: that one keeps a state on purpose.
    """
    with setup.model_copy(training=True) as trained, setup.model_copy() as fresh:
        if trained is fresh:
            return 0.0
        try:
            with IsolatedRandom(0), torch.no_grad():
                setup.run(trained, setup.batch)
            fresh.load_state_dict(trained.state_dict())
            trained.eval()
            batch = setup.two_samples
            outputs = [setup.seeded_output(each, batch) for each in (fresh, fresh, trained)]
        except Exception:
            return 0.0  # other tests report that
    return 0.0 if difference(*outputs[:2]) else difference(*outputs[1:])


@contextmanager
def _drawn_anew(tensors: Iterable[Tensor]) -> Iterator[None]:
    """Turn matrices upside down for a while, which is as good as other random numbers."""
    values = [(each, each.clone()) for each in tensors]
    for each, value in values:
        each.copy_(value.flip(0))
    try:
        yield
    finally:
        for each, value in values:
            each.copy_(value)


def _scramble(model: nn.Module, state: Mapping[str, Any], extra: Mapping[str, Tensor]) -> None:
    """Change all that is trained or saved; a new model creates its constants anew."""
    buffers = [each for name, each in model.named_buffers() if name in state]
    with torch.no_grad():
        for each in (*model.parameters(), *buffers, *extra.values()):
            if each.is_floating_point():
                each.add_(torch.randn_like(each) * (each.abs().max() + 0.1))
            else:
                each.logical_not_()
