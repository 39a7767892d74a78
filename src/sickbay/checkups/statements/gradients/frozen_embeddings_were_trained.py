import torch
from torch import nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.wording import several
from sickbay.probe.initial_weights import frozen_at_random


@dataclass(frozen=True, kw_only=True)
class FrozenEmbeddingsWereTrained(Statement):
    """A frozen embedding does not hold the random weights that torch gave it.

    Why it matters:
        A model learns little about words whose vectors are random and stay so.

    How it is tested:
        The weights of an embedding that requires no gradient must not be spread as torch spreads
        its first weights. An embedding may be frozen if other layers are frozen too, if it is a
        copy of one that is trained, or if a pass in training changes it, as a codebook.
    """

    severity = "warning"
    remedy = "load the trained vectors before freezing, or leave requires_grad at True"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        layers = dict(setup.model.named_modules())
        frozen = {name: each for name, each in layers.items() if _is_frozen(each)}
        if not frozen:
            raise Inapplicable("no layer is frozen")
        if not all(isinstance(each, nn.Embedding) for each in frozen.values()):
            raise Inapplicable("more than the embeddings is frozen")
        own = _changed(setup)
        names = [each for each in frozen_at_random(frozen) if each not in own]
        names = [each for each in names if not _is_copy(layers[each], layers)]
        if names:
            message = f"{several(names, None, 'is', 'are')} frozen with random weights"
            return self.fails(message, layers=names, frozen=len(names))
        return self.holds("the frozen embeddings do not hold the weights that torch gave them")


def _is_frozen(layer: nn.Module) -> bool:
    """Return whether a layer has a weight matrix of its own that requires no gradient."""
    own = layer.parameters(recurse=False)
    return any(each.ndim > 1 and not each.requires_grad for each in own)


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
