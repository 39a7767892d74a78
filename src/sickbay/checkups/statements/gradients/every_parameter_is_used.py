import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.training_passes import ParameterUsage, main_output
from sickbay.checkups.unregistered import unregistered
from sickbay.checkups.wording import several
from sickbay.model_copies import tensors_in
from sickbay.probe.loss_graph import nodes

MOST_SAMPLES = 64  # in the second look


@dataclass(frozen=True, kw_only=True)
class EveryParameterIsUsed(Statement):
    """Every trainable parameter is used, and every trained tensor is registered.

    Why it matters:
        An unused layer is usually a mistake, and layers in a plain list are never trained.

    How it is tested:
        Each parameter must be used by some operation of a forward pass, in training or in
        evaluation. A tensor that gets a gradient must be a parameter of the model.
    """

    order = 2
    severity = "warning"
    remedy = "call the layer in forward or delete it; keep layers in nn.ModuleList or nn.ModuleDict"

    def examine(self, setup: ModelSetup) -> Result:
        first = setup.first_pass
        foreign = _foreign_tensors(setup)
        own = dict(setup.model.named_parameters())  # a user's function may hold the model itself
        known = set(map(id, own.values()))
        named = [
            name or "a layer defined elsewhere"
            for each, name in foreign.items()
            if id(each) not in known and (name or isinstance(each, nn.Parameter))
        ]
        if unknown := list(dict.fromkeys(named)):
            message = f"{several(unknown, None, 'is', 'are')} trained, but not part of the model"
            return self.fails(message, layers=unknown, unknown=len(unknown))
        total = len(first.gradients)
        if not total:
            raise Inapplicable("no parameter is trainable")
        unused = [name for name in first.gradients if name not in first.used]
        unused = [name for name in unused if all(own[name] is not each for each in foreign)]
        for training in (False, True) if unused else ():
            # Look again with more samples: parameters may be chosen by them or at random.
            copy = setup.model_copy(training=training)
            with copy as model, torch.no_grad(), ParameterUsage(model) as usage:
                setup.run(model, setup.full_batch.first(MOST_SAMPLES))
            unused = [name for name in unused if name not in usage.operations]
        if unused:
            message = f"{several(unused, total, 'is', 'are')} not used in the forward pass"
            return self.fails(message, layers=unused, unused=len(unused))
        return self.holds(f"all {total} parameters are used", unused=0)


def _foreign_tensors(setup: ModelSetup) -> dict[Tensor, str]:
    """Return the tensors, with names, that get a gradient but are no parameters of the copy."""
    with setup.model_copy(training=True) as model:
        raw = setup.run(model, setup.batch)
        ends = tensors_in(raw) if setup.first_pass.main is None else [main_output(raw)]
        known = {id(each) for each in model.parameters()}
        leaves = {
            each.variable
            for each in nodes(*(end.grad_fn for end in ends))
            if hasattr(each, "variable")
        }
        named = {each: name for name, each in unregistered(model).items() if each in leaves}
    others = {each: "" for each in leaves if each not in named and id(each) not in known}
    return named | others
