from dataclasses import dataclass
from typing import ClassVar

import torch

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.first_pass import Taken
from sickbay.checkups.report import Result
from sickbay.checkups.unregistered import unregistered
from sickbay.checkups.words import several
from sickbay.findings import Severity

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

    severity: ClassVar[Severity] = "warning"
    remedy = "call it in forward or delete it; hold layers in nn.ModuleList or nn.ModuleDict"

    def examine(self, case: Case) -> Result:
        seen = case.seen
        if unknown := self._unknown(case):
            message = f"{several(unknown)} is trained on, but is no parameter of the model"
            return self.fails(message, layers=unknown, unknown=len(unknown))
        total = len(seen.gradients)
        if not total:
            raise Inapplicable("no parameter is trainable")
        unused = [name for name in seen.gradients if name not in seen.used]
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
    def _unknown(case: Case) -> list[str]:
        if not unregistered(case.model):
            return []
        with case.patient(training=True) as model:
            held = unregistered(model)
            total = case.output(model, case.batch).float().square().sum()
            if not total.requires_grad:
                return []
            found = torch.autograd.grad(total, list(held.values()), allow_unused=True)
        return [name for name, each in zip(held, found, strict=True) if each is not None]
