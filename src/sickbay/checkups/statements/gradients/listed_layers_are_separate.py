from collections import Counter
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.wording import counted, several
from sickbay.model_copies import tensors_in
from sickbay.probe.loss_graph import nodes


@dataclass(frozen=True, kw_only=True)
class ListedLayersAreSeparate(Statement):
    """No layer stands twice in a list of layers that follow each other.

    Why it matters:
        `[Block()] * 6` is one block applied six times, with a sixth of the weights.

    How it is tested:
        No Sequential or ModuleList holds the same layer with a weight matrix twice. A layer may
        stand there twice if it never gets what it has computed itself, as a head that several
        levels share.
    """

    severity = "warning"
    remedy = "make each layer anew: [Block() for _ in range(6)]; apply a shared one in a loop"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        lists = _lists_of_layers(setup.model)
        if not lists:
            raise Inapplicable("the model has no list of layers")
        with setup.model_copy(training=True) as model:
            wrong = _fed_by_themselves(setup, model)
        if wrong:
            names, count = list(wrong), next(iter(wrong.values()))
            message = f"{several(names, None, 'stands', 'stand')} {count} times in a list"
            return self.fails(f"{message}: it is one layer with one set of weights", layers=names)
        return self.holds(f"the layers in {counted(len(lists), 'list')} are separate")


def _lists_of_layers(model: nn.Module) -> dict[str, nn.Module]:
    known = model.named_modules()
    return {n: each for n, each in known if isinstance(each, nn.ModuleList | nn.Sequential)}


def _fed_by_themselves(setup: ModelSetup, model: nn.Module) -> dict[str, int]:
    """Return repeated layers that get what they have computed, with how often they stand there."""
    repeated: dict[nn.Module, tuple[str, int]] = {}
    for name, each in _lists_of_layers(model).items():
        for layer, count in Counter(each._modules.values()).items():
            if count > 1 and layer is not None and any(p.ndim > 1 for p in layer.parameters()):
                place = next(key for key, value in each._modules.items() if value is layer)
                repeated[layer] = f"{name}.{place}" if name else place, count
    inputs: list[tuple[nn.Module, Tensor]] = []

    def record(layer: nn.Module, args: Any, kwargs: Any) -> None:
        inputs.extend((layer, each) for each in tensors_in([args, kwargs]))

    for layer in repeated:
        for part in _called(layer):
            part.register_forward_pre_hook(record, with_kwargs=True)
    if repeated:
        setup.run(model, setup.batch)
    fed = {layer for layer, each in inputs if _uses(each, layer)}
    return {
        name: count for layer, (name, count) in repeated.items() if fed.intersection(_called(layer))
    }


def _called(layer: nn.Module) -> Iterator[nn.Module]:
    """Yield what is called of a layer: itself, or what it lists."""
    if isinstance(layer, nn.ModuleList):
        for each in layer.children():
            yield from _called(each)
    else:
        yield layer


def _uses(value: Tensor, layer: nn.Module) -> bool:
    """Return whether a value was computed with the weights of a layer."""
    own = {id(each) for each in layer.parameters()}
    return any(id(getattr(each, "variable", None)) in own for each in nodes(value.grad_fn))
