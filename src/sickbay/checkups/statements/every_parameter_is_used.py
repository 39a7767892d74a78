from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.first_pass import Taken
from sickbay.checkups.report import Result
from sickbay.checkups.unregistered import unregistered
from sickbay.checkups.wording import several
from sickbay.probe.loss_graph import nodes

MOST = 64  # samples of the second look


@dataclass(frozen=True, kw_only=True)
class EveryParameterIsUsed(Statement):
    """Every trainable parameter takes part, and the model knows of all it uses.

    Why it matters:
        A layer that is left out is mostly a slip, and one in a plain list is never trained.

    How it is tested:
        Every parameter must be taken by some operation of a forward pass, in training or in
        evaluation. A tensor that gets a gradient must be a parameter of the model.
    """

    severity = "warning"
    remedy = "call it in forward or delete it; hold layers in nn.ModuleList or nn.ModuleDict"

    def examine(self, case: Case) -> Result:
        seen = case.seen
        leading = self._leading(case)
        if unknown := self._unknown(case, leading):
            message = f"{several(unknown, None, 'is', 'are')} trained, but not known to the model"
            return self.fails(message, layers=unknown, unknown=len(unknown))
        total = len(seen.gradients)
        if not total:
            raise Inapplicable("no parameter is trainable")
        own = dict(case.model.named_parameters())  # a function of the user's may hold the model
        unused = [name for name in seen.gradients if name not in seen.used]
        unused = [name for name in unused if all(own[name] is not each for each in leading)]
        for training in (False, True) if unused else ():
            taken = self._taken(case, training)
            unused = [name for name in unused if name not in taken]
        if unused:
            message = f"{several(unused, total)} took no part in the forward pass"
            return self.fails(message, layers=unused, unused=len(unused))
        return self.holds(f"all {total} parameters took part", unused=0)

    @staticmethod
    def _taken(case: Case, training: bool) -> set[str]:
        """Look again, with more samples: what is chosen by them or by chance may be now."""
        with case.patient(training=training) as model, torch.no_grad(), Taken(model) as taken:
            case.run(model, case.whole.first(MOST))
        return set(taken.by)

    @staticmethod
    def _leading(case: Case) -> dict[Tensor, str]:
        """Return what would get a gradient and is not in the model that was run, with its name."""
        with case.patient(training=True) as model:
            output = case.output(model, case.batch)
            known = {id(each) for each in model.parameters()}
            ends = {each.variable for each in nodes(output.grad_fn) if hasattr(each, "variable")}
            named = {each: name for name, each in unregistered(model).items() if each in ends}
        others = {each: "" for each in ends if each not in named and id(each) not in known}
        return named | others

    @staticmethod
    def _unknown(case: Case, leading: Mapping[Tensor, str]) -> list[str]:
        own = {id(each) for each in case.model.parameters()}
        names = [
            name or "a layer made elsewhere"
            for each, name in leading.items()
            if id(each) not in own and (name or isinstance(each, nn.Parameter))
        ]
        return list(dict.fromkeys(names))
