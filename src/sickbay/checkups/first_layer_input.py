"""What reaches the first layer that has weights."""

from __future__ import annotations

from torch import Tensor, nn

from sickbay.checkups.case import Case
from sickbay.checkups.layer_calls import calls
from sickbay.model_copies import tensors_in


def entrance(case: Case) -> tuple[str, Tensor]:
    """Return the kind of that layer and what it was given: a model may scale its inputs itself.

    Where it cannot be told, the kind is "" and the inputs are what was given.
    """
    for layer, args in calls(case, case.batch, _has_weights):
        numbers = [each for each in tensors_in(args) if each.is_floating_point()]
        if numbers:
            return type(layer).__name__, numbers[0].detach()
    return "", case.batch.main


def _has_weights(layer: nn.Module) -> bool:
    return any(True for _ in layer.parameters(False))
