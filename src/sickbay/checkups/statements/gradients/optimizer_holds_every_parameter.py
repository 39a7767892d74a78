from collections import Counter

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.wording import counted, several


@dataclass(frozen=True, kw_only=True)
class OptimizerHoldsEveryParameter(Statement):
    """The optimizer holds every trainable parameter of the model exactly once.

    Why it matters:
        Parameters missing from the optimizer never change; those it holds twice are updated twice.

    How it is tested:
        The tensors in its groups are compared with those of the model. It may hold others as well,
        such as the parameters of a loss.
    """

    order = 4
    remedy = "create the optimizer last, with model.parameters(); freeze what should not be trained"

    def examine(self, setup: ModelSetup) -> Result:
        held = [each for group in setup.optimizer.param_groups for each in group["params"]]
        counts = Counter(map(id, held))
        named = dict(setup.model.named_parameters())
        trainable = [name for name, each in named.items() if each.requires_grad]
        if not trainable:
            raise Inapplicable("no parameter is trainable")
        missing = [name for name in trainable if id(named[name]) not in counts]
        twice = [name for name, each in named.items() if counts[id(each)] > 1]
        own = set(map(id, named.values()))
        others = [each for each in held if id(each) not in own]
        if missing:
            which = several(missing, len(trainable), "is", "are")
            shapes = {each.shape for each in others}  # a copy of the model has the same ones
            copied = any(named[name].shape in shapes for name in missing)
            note = f", which holds {len(others)} tensors of another model" if copied else ""
            message = f"{which} not in the optimizer{note}"
            return self.fails(message, layers=missing, missing=len(missing), others=len(others))
        if twice:
            which = several(twice, len(trainable), "is", "are")
            message = f"{which} in the optimizer more than once"
            return self.fails(message, layers=twice, twice=len(twice))
        frozen = [name for name in named if name not in trainable]
        message = f"it holds all {len(trainable)} trainable parameters"
        message += f"; {several(frozen, len(named), 'is', 'are')} frozen" if frozen else ""
        message += f"; it also holds {counted(len(others), 'other tensor')}" if others else ""
        return self.holds(message, frozen=len(frozen), others=len(others))
