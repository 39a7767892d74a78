"""Longer than 60 lines: what a model does without is told from what its training needs."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import torch
from torch import nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.statements.gradients.first_steps import loss_falls, reached_parameters
from sickbay.checkups.wording import counted, several

FEW = 0.1  # share of the weights that a part must stay below to be few


@dataclass(frozen=True, kw_only=True)
class GradientReachesEveryParameter(Statement):
    """A nonzero gradient reaches every trainable parameter that is used.

    Why it matters:
        A parameter without a gradient keeps its random initial value, however long training takes.

    How it is tested:
        After a forward and backward pass in training, the gradient of every used parameter must be
        finite and not all zero. If it is zero, a few small steps may change that, as with layers
        that start at zero. A bias may have no gradient if the weight of its layer has one.
        Recurrent weights may have none if only one step of their direction is used. It is only a
        warning if the loss falls all the same, and the parameters are few or change no output.
    """

    order = 3
    remedy = "look for .detach(), .data, .item(), argmax or no_grad between it and the loss"

    def examine(self, setup: ModelSetup) -> Result:
        first = setup.first_pass
        gradients = {name: each for name, each in first.gradients.items() if name in first.used}
        if not gradients:
            raise Inapplicable("no trainable parameter is used")
        if cause := _why_not_finite(setup):
            raise Inapplicable(cause)
        known = {name: each for name, each in gradients.items() if each is not None}
        broken = [name for name, each in known.items() if not isfinite(each)]
        unclear = {} if broken or first.reached >= gradients.keys() else gradients
        missed = [name for name in unclear if name not in setup.once(reached_parameters)]
        cut = [name for name in missed if name not in known]
        missed = [name for name in missed if not _needs_none(name, setup)]
        for names, what in ((broken, "NaN or Inf"), (cut, "no gradient"), (missed, "only zeros")):
            if names:
                message = f"{several(names, len(gradients))} got {what}"
                result = self.fails(message, layers=names, reached=len(gradients) - len(names))
                harmless = names is not broken and _trains_without(setup, [*cut, *missed])
                return replace(result, severity="warning") if harmless else result
        count = len(gradients)
        return self.holds(f"gradients reach {counted(count, 'parameter')}", reached=count)


def _why_not_finite(setup: ModelSetup) -> str:
    """Return what makes gradients NaN or Inf without being a fault of theirs, "" if nothing."""
    first, targets = setup.first_pass, setup.batch.targets
    if first.main is not None and not first.main.isfinite().all():
        return "the output is not finite, see runs_on_the_batch"
    wild = targets is not None and not targets.isfinite().all()
    return "targets are NaN or Inf, see targets_are_sane" if wild and first.loss.isnan() else ""


def _trains_without(setup: ModelSetup, names: Sequence[str]) -> bool:
    """Return whether the loss falls without a part that is small or changes no output."""
    sizes = {name: each.numel() for name, each in setup.model.named_parameters()}
    used = sum(sizes[name] for name in setup.first_pass.gradients)
    without = sum(sizes[name] for name in set(names))
    harmless = without < FEW * used or _have_no_effect(setup, names)
    return setup.first_pass.has_loss and harmless and setup.once(loss_falls)


def _have_no_effect(setup: ModelSetup, names: Sequence[str]) -> bool:
    """Return whether the output is the same with other values of these parameters."""
    with setup.model_copy() as model, torch.no_grad():
        before = setup.seeded_output(model, setup.batch)
        for name in names:
            weight = model.get_parameter(name)
            weight.add_(torch.randn_like(weight))
        return torch.equal(before, setup.seeded_output(model, setup.batch))


def _needs_none(name: str, setup: ModelSetup) -> bool:
    """Return whether it is a shift that a norm or softmax undoes, or recurrent over one step."""
    reached = setup.once(reached_parameters)
    path = name.rpartition(".")[0]
    recurrent = isinstance(setup.model.get_submodule(path), nn.RNNBase | nn.RNNCellBase)
    if recurrent and "_hh" in name and name.replace("_hh", "_ih") in reached:
        return True
    dimensions = {each: value.ndim for each, value in setup.model.named_parameters()}
    siblings = [each for each in reached if each.rpartition(".")[0] == path]
    return dimensions[name] < 2 and any(dimensions[each] > 1 for each in siblings)
