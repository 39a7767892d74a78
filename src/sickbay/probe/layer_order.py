"""The layers and parameters of a model in forward order, and which optimizer holds them."""

from collections.abc import Sequence
from math import inf
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from sickbay.model_arguments import unwrap_compiled
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles, Hook, can_be_hooked
from sickbay.probe.initial_weights import first_sum, frozen_at_random

RATE_JUMP = 10.0  # a learning rate above this many times an earlier one has jumped
TORCH_CLASSES = frozenset(each for each in vars(nn).values() if isinstance(each, type))


class Layers:
    """The modules and trainable parameters of a model by name, in forward order.

    The first forward pass in training shows the order. Until then, and in a compiled model, it is
    the order of registration.
    """

    def __init__(self, model: nn.Module, guard: Guard) -> None:
        self.model = unwrap_compiled(model)
        self.modules: dict[str, nn.Module] = {}
        self.parameters: dict[str, nn.Parameter] = {}
        self._guard = guard
        self._calls: dict[nn.Module, int] = {}
        self._hooks = Handles()
        self._is_learnt = False
        modules = dict(self.model.named_modules())
        self._at_random = {name: first_sum(modules[name]) for name in frozen_at_random(modules)}
        self.refresh()

    def refresh(self) -> bool:
        """Look at the model again. If it has changed, return True and learn its order again."""
        changed = self._sort()
        if changed:
            self._hooks.remove()
            hook = Hook(self._guard, "order", self._called)
            for module in filter(can_be_hooked, self.modules.values()):
                self._hooks.add(module.register_forward_pre_hook(hook))
            self._calls.clear()
            self._is_learnt = False
        return changed

    def frozen(self) -> tuple[str, ...]:
        """Return the layers that have a kernel which requires no gradient."""
        return tuple(
            name
            for name, module in self.modules.items()
            if any(
                each.ndim > 1 and not each.requires_grad
                for each in module.parameters(recurse=False)
            )
        )

    def untrained(self) -> tuple[str, ...]:
        """Return the layers that are used, were frozen with random weights, and still have them.

        The weights of a teacher that follows the model change by hand.
        """
        unused = self.uncalled()
        return tuple(
            name
            for name, before in self._at_random.items()
            if name not in unused
            and name in self.modules
            and first_sum(self.modules[name]) == before
        )

    def learn_order(self) -> None:
        """Adopt the order of the first forward pass, once there was one."""
        if self._calls and not self._is_learnt:
            self._hooks.remove()
            self._is_learnt = True
            self._sort()

    def class_names(self) -> dict[str, str]:
        """Return the class in `torch.nn` of every module that computes something itself."""
        return {
            name: torch_class(module)
            for name, module in self.modules.items()
            if computes(module) or has_parameters(module)
        }

    def dropout(self) -> dict[str, float]:
        """Return the share of values that each dropout layer drops."""
        return {
            name: float(module.p)
            for name, module in self.modules.items()
            if isinstance(module, nn.modules.dropout._DropoutNd)
        }

    def uncalled(self) -> tuple[str, ...]:
        """Return the modules with parameters that the first forward pass did not call."""
        return tuple(
            name
            for name, module in self.modules.items()
            if self._is_learnt and module not in self._calls and has_parameters(module)
        )

    def close(self) -> None:
        self._hooks.remove()

    def _sort(self) -> bool:
        """List modules and parameters in forward order; return whether the lists have changed."""
        before = list(self.modules.items()), list(map(id, self.parameters.values()))
        places: dict[str, int] = {}  # a module that is never called follows the one before it
        place = 0
        for name, module in self.model.named_modules():
            places[name] = place = self._calls.get(module, place)
        modules = dict(self.model.named_modules())
        self.modules = {name: modules[name] for name in sorted(modules, key=places.__getitem__)}
        names: dict[nn.Parameter, str] = {}  # a shared parameter belongs to its first user
        for name, module in self.modules.items():
            for key, parameter in module.named_parameters(recurse=False):
                if parameter.requires_grad:
                    names.setdefault(parameter, f"{name}.{key}" if name else key)
        self.parameters = {name: parameter for parameter, name in names.items()}
        return before != (list(self.modules.items()), list(map(id, self.parameters.values())))

    def _called(self, module: nn.Module, _inputs: Any) -> None:
        if self.model.training and torch.is_grad_enabled():
            self._calls.setdefault(module, len(self._calls))


class HeldParameters:
    """The parameters of a model by the optimizer that holds them."""

    def __init__(self, optimizers: Sequence[Optimizer], layers: Layers) -> None:
        self.optimizers = list(optimizers)
        self.rate_limit = inf  # a learning rate above it has jumped
        self._layers = layers
        self.by_optimizer: dict[Optimizer, dict[str, nn.Parameter]] = {}
        self.update()

    def update(self) -> None:
        """Look up again what each optimizer holds."""
        self.listed, self.known_ids = self._layers.parameters, self.ids()
        for optimizer in self.optimizers:
            held = {id(each) for group in optimizer.param_groups for each in group["params"]}
            self.by_optimizer[optimizer] = {
                name: each for name, each in self._layers.parameters.items() if id(each) in held
            }

    def ids(self) -> list[int]:
        """Return the `id` of every parameter in an optimizer."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        return [id(parameter) for group in groups for parameter in group["params"]]

    def last(self) -> dict[str, nn.Parameter]:
        """Return the parameters that the last optimizer holds, {} if there is no optimizer."""
        return self.by_optimizer[self.optimizers[-1]] if self.optimizers else {}

    def names(self) -> set[str]:
        """Return the names of all parameters that an optimizer holds."""
        return {name for parameters in self.by_optimizer.values() for name in parameters}

    def clears(self, parameter: nn.Parameter) -> bool:
        """Return whether an optimizer can clear a gradient; True if there is no optimizer."""
        return not self.optimizers or id(parameter) in self.known_ids

    def unheld(self) -> tuple[str, ...]:
        """Return the trainable parameters that no optimizer holds.

        Nothing if no optimizer holds any parameter of the model, not even a frozen one: optimizers
        may hold copies.
        """
        held, known = self.names(), {*self.known_ids}
        if not any(id(each) in known for each in self._layers.model.parameters()):
            return ()
        return tuple(name for name in self._layers.parameters if name not in held)

    def settings(self) -> dict[str, float]:
        """Return the numbers among the settings of the first group."""
        first = next((optimizer.param_groups[0] for optimizer in self.optimizers), {})
        return {name: float(each) for name, each in first.items() if type(each) in (int, float)}

    def learning_rates(self) -> dict[str, float]:
        """Return the learning rate of every group: `lr`, then `lr_1`, `lr_2` and so on."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        rates = {
            f"lr_{index}" if index else "lr": float(group["lr"])
            for index, group in enumerate(groups)
            if "lr" in group
        }
        self.rate_limit = RATE_JUMP * max(rates.values(), default=inf)
        return rates


def torch_class(module: nn.Module) -> str:
    """Return the name of the nearest class in `torch.nn` that a module inherits from.

    >>> class Head(nn.Linear): pass
    >>> torch_class(Head(2, 2)), torch_class(nn.ReLU()), torch_class(nn.Module())
    ('Linear', 'ReLU', 'Module')
    """
    return next(each.__name__ for each in type(module).__mro__ if each in TORCH_CLASSES)


def has_parameters(module: nn.Module) -> bool:
    """Return whether a module has parameters of its own."""
    return next(module.parameters(recurse=False), None) is not None


def computes(module: nn.Module) -> bool:
    """Return whether a module computes its output itself, rather than by calling its children."""
    return isinstance(module, nn.MultiheadAttention) or next(module.children(), None) is None


def acts_by_mode(module: nn.Module) -> bool:
    """Return whether a module computes something different in training and in evaluation."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats
