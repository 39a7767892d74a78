from dataclasses import dataclass

from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.report import Result
from sickbay.checkups.wording import several


@dataclass(frozen=True, kw_only=True)
class OptimizerHoldsEveryParameter(Statement):
    """The optimizer holds every trainable parameter of the model, once.

    Why it matters:
        What the optimizer does not hold is never updated, and what it holds twice is updated twice.

    How it is tested:
        The tensors in its groups are compared with those of the model. It may hold more than those,
        as the parameters of a loss.
    """

    remedy = "make the optimizer last, with model.parameters(); freeze what is not to be trained"

    def examine(self, case: Case) -> Result:
        held = [each for group in case.optimizer.param_groups for each in group["params"]]
        counts = dict.fromkeys(map(id, held), 0)
        for each in held:
            counts[id(each)] += 1
        named = dict(case.model.named_parameters())
        trainable = [name for name, each in named.items() if each.requires_grad]
        if not trainable:
            raise Inapplicable("no parameter is trainable")
        missing = [name for name in trainable if id(named[name]) not in counts]
        twice = [name for name, each in named.items() if counts.get(id(each), 0) > 1]
        own = set(map(id, named.values()))
        others = [each for each in held if id(each) not in own]
        if missing:
            why = self._why([named[name] for name in missing], others)
            message = f"{several(missing, len(trainable), 'is', 'are')} not in the optimizer{why}"
            return self.fails(message, layers=missing, missing=len(missing), others=len(others))
        if twice:
            message = (
                f"{several(twice, len(trainable), 'is', 'are')} in the optimizer more than once"
            )
            return self.fails(message, layers=twice, twice=len(twice))
        frozen = [name for name in named if name not in trainable]
        notes = [f"; {several(frozen, len(named), 'is', 'are')} frozen"] if frozen else []
        notes += [f"; it holds {len(others)} tensors of something else too"] if others else []
        return self.holds(
            f"all {len(trainable)} trainable parameters are in it{''.join(notes)}",
            frozen=len(frozen),
            others=len(others),
        )

    @staticmethod
    def _why(missing: list[Tensor], others: list[Tensor]) -> str:
        """Tell whether it rather holds those of a copy, or of the model as it was before."""
        shapes = [tuple(each.shape) for each in others]
        alike = sum(tuple(each.shape) in shapes for each in missing)
        return f", which holds {len(others)} tensors of another model" if alike else ""
