"""What a model is made of: its layers and parameters, in the order the data flows through them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from sickbay.model_arguments import unwrap_compiled
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles, Hook, can_be_hooked


class Layers:
    """The modules and trainable parameters of a model by name, in forward order.

    The order is learnt from the first forward pass in training; until then, and where it cannot be
    seen (a compiled model), it is the order of registration.
    """

    def __init__(self, model: nn.Module, guard: Guard) -> None:
        self.model = unwrap_compiled(model)
        self.modules: dict[str, nn.Module] = {}
        self.parameters: dict[str, nn.Parameter] = {}
        self._guard = guard
        self._calls: dict[nn.Module, int] = {}
        self._hooks = Handles()
        self.settled = False  # whether the order was learnt
        self.refresh()

    def refresh(self) -> bool:
        """Look at the model again; return whether it has changed, then the order is learnt anew."""
        changed = self._sort()
        if changed:
            self._hooks.remove()
            hook = Hook(self._guard, "order", self._called)
            for module in filter(can_be_hooked, self.modules.values()):
                self._hooks.add(module.register_forward_pre_hook(hook))
            self._calls.clear()
            self.settled = False
        return changed

    def learn_order(self) -> bool:
        """Take over the order of the first forward pass; return whether that happened now."""
        if self.settled or not self._calls:
            return False
        self._hooks.remove()
        self.settled = True
        self._sort()
        return True

    def class_names(self) -> dict[str, str]:
        """Return the class name of every module that computes something itself."""
        return {
            name: type(module).__name__
            for name, module in self.modules.items()
            if computes(module) or any(True for _ in module.parameters(recurse=False))
        }

    def uncalled(self) -> tuple[str, ...]:
        """Return the modules with parameters of their own that the first forward did not call."""
        if not self.settled:
            return ()
        return tuple(
            name
            for name, module in self.modules.items()
            if module not in self._calls and any(True for _ in module.parameters(recurse=False))
        )

    def close(self) -> None:
        self._hooks.remove()

    def _sort(self) -> bool:
        """List modules and parameters in forward order; return whether these are new lists."""
        modules, parameters = list(self.modules.items()), list(self.parameters.values())
        registered = dict(self.model.named_modules())
        places = self._places(registered)
        self.modules = {
            name: registered[name] for name in sorted(registered, key=places.__getitem__)
        }
        self.parameters = {
            f"{name}.{key}" if name else key: parameter
            for name, module in self.modules.items()
            for key, parameter in module.named_parameters(recurse=False)
            if parameter.requires_grad
        }
        seen: set[nn.Parameter] = set()  # a shared parameter belongs to the first that uses it
        for name, parameter in list(self.parameters.items()):
            if parameter in seen:
                del self.parameters[name]
            seen.add(parameter)
        return modules != list(self.modules.items()) or not (
            len(parameters) == len(self.parameters)
            and all(map(lambda a, b: a is b, parameters, self.parameters.values()))
        )

    def _called(self, module: nn.Module, _inputs: Any) -> None:
        if self.model.training and torch.is_grad_enabled():
            self._calls.setdefault(module, len(self._calls))

    def _places(self, registered: dict[str, nn.Module]) -> dict[str, tuple[int, int]]:
        """Return a sort key for each module: when it was first called, then its registration.

        One that was never called (its parent uses its weights) stands by the one before it.
        """
        places: dict[str, tuple[int, int]] = {}
        place = 0
        for index, (name, module) in enumerate(registered.items()):
            place = self._calls.get(module, place)
            places[name] = place, index
        return places


def computes(module: nn.Module) -> bool:
    """Tell whether a module computes its output itself, rather than by calling its children."""
    return isinstance(module, nn.MultiheadAttention) or next(module.children(), None) is None


def acts_by_mode(module: nn.Module) -> bool:
    """Tell whether a module computes something else in training than in evaluation."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats
