"""What reaches the first layer that has weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from sickbay.checkups.case import Case
from sickbay.surgery.patient import tensors_in


def entrance(case: Case) -> tuple[str, Tensor]:
    """Return the kind of that layer and what it was given: a model may scale its inputs itself.

    Where it cannot be told, the kind is "" and the inputs are what was given.
    """
    seen: list[tuple[str, Tensor]] = []

    def look(layer: nn.Module, given: Any) -> None:
        numbers = [each for each in tensors_in(given) if each.is_floating_point()]
        if numbers and not seen:
            seen.append((type(layer).__name__, numbers[0].detach()))

    with case.patient() as model:
        layers = [each for each in model.modules() if any(True for _ in each.parameters(False))]
        hooks = [each.register_forward_pre_hook(look) for each in layers]
        try:
            case.evaluated(case.batch, model)
        except Exception:
            pass  # there is a test for that
        finally:
            for hook in hooks:
                hook.remove()
    return seen[0] if seen else ("", case.batch.main)
