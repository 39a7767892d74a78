"""Longer than 60 lines: it also knows which layers depend on the mode."""

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.compare_outputs import difference, fill_zero_weights
from sickbay.checkups.unregistered import unregistered_layers
from sickbay.checkups.wording import several
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import tensors_in


@dataclass(frozen=True, kw_only=True)
class ModesDiffer(Statement):
    """Layers that behave differently in training and in evaluation follow the mode of the model.

    Why it matters:
        Dropout or batch norm in the wrong mode spoils either the training or every score.

    How it is tested:
        After `model.train()` and `model.eval()` every such layer must be in that mode; frozen ones
        may stay in evaluation. If one of them runs, the outputs of the two modes must differ.
    """

    order = 2
    severity = "warning"
    remedy = "look for an overridden train() or eval(), or layers whose mode is set by hand"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        for training, other in ((True, "evaluation"), (False, "training")):
            with setup.model_copy(training=training) as model:
                if names := _in_wrong_mode(model, training):
                    message = f"{several(names, None, 'stays', 'stay')} in {other} mode"
                    return self.fails(message, layers=names, stuck=len(names))
        change, ran, forced = _compare_modes(setup)
        if forced:
            which = several(forced, None, "is", "are")
            message = f"{which} set to evaluation during a forward pass in training"
            return self.fails(message, layers=forced, stuck=len(forced))
        if not ran:
            raise Inapplicable("no layer with dropout or batch norm runs")
        if not change:
            which = several(ran, None, "runs", "run")
            message = f"{which}, but both modes give the same output"
            return self.fails(message, layers=ran, difference=change)
        message = f"{len(ran)} layers make the outputs of the two modes differ"
        return self.holds(message, difference=change)


def _compare_modes(setup: ModelSetup) -> tuple[float, list[str], list[str]]:
    """Return how much the outputs differ, and the layers that run in training mode.

    The third value lists layers that were in training mode before the pass, but not in it.
    """
    ran: dict[str, bool] = {}
    with setup.model_copy() as model, ExitStack() as hooks:
        fill_zero_weights(model)
        names = {layer: name for name, layer in mode_layers(model).items()}

        def record(layer: nn.Module, *_: Any) -> None:
            ran[names[layer]] = layer.training

        for layer in names:
            hooks.enter_context(layer.register_forward_hook(record))
        model.eval()
        evaluated = _outputs(setup, model)
        ran.clear()
        model.train()
        meant = {name for layer, name in names.items() if layer.training}
        trained = _outputs(setup, model)
    change = max(map(difference, evaluated, trained), default=0.0)
    forced = [name for name, training in ran.items() if name in meant and not training]
    return change, [name for name, training in ran.items() if training], forced


def _outputs(setup: ModelSetup, model: nn.Module) -> list[Tensor]:
    with IsolatedRandom(0), torch.no_grad():
        found = tensors_in(setup.run(model, setup.two_samples))
    return [each for each in found if each.is_floating_point()]


def mode_layers(model: nn.Module) -> dict[str, nn.Module]:
    """Return torch's layers that train and evaluate differently, by name.

    >>> list(mode_layers(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0), nn.Dropout(0.1))))
    ['2']
    """
    return {name: module for name, module in model.named_modules() if _depends_on_mode(module)}


def _depends_on_mode(module: nn.Module) -> bool:
    match module:
        case _DropoutNd():
            return module.p > 0
        case _NormBase():
            return bool(module.track_running_stats)
        case nn.RNNBase():
            return module.dropout > 0 and module.num_layers > 1
        case nn.MultiheadAttention():
            return bool(module.dropout > 0)
    return isinstance(module, nn.RReLU)


def _in_wrong_mode(model: nn.Module, training: bool) -> list[str]:
    """Return the layers that are not in the mode that the model was put into.

    The user's own layers count, since they may read the mode. Frozen ones may stay in evaluation.
    """
    known = mode_layers(model)
    unregistered = [  # they keep the mode they were created in
        name
        for name, layer in unregistered_layers(model).items()
        if any(part.training is not training for part in mode_layers(layer).values())
    ]
    return unregistered + [
        name or "the model"
        for name, module in model.named_modules()
        if module.training is not training
        and (name in known or not type(module).__module__.startswith("torch."))
        and not (training and _is_frozen(model, name))
    ]


def _is_frozen(model: nn.Module, name: str) -> bool:
    """Return whether a layer, or the nearest parent that has parameters, is frozen."""
    while True:
        trainable = [each.requires_grad for each in model.get_submodule(name).parameters()]
        if trainable or not name:
            return bool(trainable) and not any(trainable)
        name = name.rpartition(".")[0]
