import torch
from torch import nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.wording import several
from sickbay.probe.initial_weights import frozen_at_random


@dataclass(frozen=True, kw_only=True)
class FrozenLayersWereTrained(Statement):
    """Frozen layers do not hold the random weights that torch gave them.

    Why it matters:
        A frozen random layer loses what it was meant to pass on, and can never learn it.

    How it is tested:
        The weights of layers that require no gradient must not be spread as torch spreads the first
        weights of such a layer. A copy of a layer that is trained, such as a teacher, may be
        frozen, and so may what the model itself changes in a pass in training, such as a codebook.
        Nothing is said if the whole model is frozen.
    """

    severity = "warning"
    remedy = "load the trained weights before freezing, or leave requires_grad at True"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        layers = dict(setup.model.named_modules())
        matrices = [each for each in setup.model.parameters() if each.ndim > 1]
        frozen = [each for each in matrices if not each.requires_grad]
        if not frozen or len(frozen) == len(matrices):
            raise Inapplicable("no layer is frozen" if not frozen else "every layer is frozen")
        names = [each for each in frozen_at_random(layers) if not _is_copy(layers[each], layers)]
        if names:
            own = _changed(setup)
            names = [each for each in names if each not in own]
        if names:
            message = f"{several(names, None, 'is', 'are')} frozen with random weights"
            return self.fails(message, layers=names, frozen=len(names))
        return self.holds(f"{len(frozen)} frozen weights are not those that torch gave them")


def _is_copy(layer: nn.Module, layers: dict[str, nn.Module]) -> bool:
    """Return whether another layer that is trained has the same weights."""
    own = next(each for each in layer.parameters(recurse=False) if each.ndim > 1)
    return any(
        each.requires_grad and each.shape == own.shape and each.equal(own)
        for other in layers.values()
        for each in other.parameters(recurse=False)
    )


def _changed(setup: ModelSetup) -> set[str]:
    """Return the layers whose weights a pass in training changes."""
    with setup.model_copy(training=True) as model, torch.no_grad():
        before = {name: each.clone() for name, each in model.named_parameters()}
        setup.run(model, setup.batch)
        after = dict(model.named_parameters())
    return {name.rpartition(".")[0] for name in before if not before[name].equal(after[name])}
