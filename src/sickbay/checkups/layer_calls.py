"""Which layers a model calls, and with what."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from torch import nn

from sickbay.checkups.batch import Batch

if TYPE_CHECKING:
    from sickbay.checkups.case import Case


def calls(
    case: Case, batch: Batch, wanted: Callable[[nn.Module], bool]
) -> list[tuple[nn.Module, tuple[Any, ...]]]:
    """Return the layers of a kind in the order they are called in evaluation, with their arguments.

    A model that fails on its way has called those before that.
    """
    seen: list[tuple[nn.Module, tuple[Any, ...]]] = []
    with case.patient() as model, ExitStack() as hooks:
        for each in filter(wanted, model.modules()):
            hook = each.register_forward_pre_hook(lambda layer, args: seen.append((layer, args)))
            hooks.enter_context(hook)
        with suppress(Exception):
            case.evaluated(batch, model)
    return seen
