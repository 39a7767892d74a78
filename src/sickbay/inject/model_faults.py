"""Faults in gradients, weights and the learning rate.

Gradients change during backward, so everything that reads them later sees the fault. Weights stay
changed when the block ends.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log, nan
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import check_choice, check_float, check_list, short_repr
from sickbay.errors import UsageError
from sickbay.inject.injection import (
    Injection,
    ModelHook,
    When,
    check_target,
    check_value,
    with_first,
)

# At this level ReLU and GELU output zero; a lower one would look like a layer that explodes.
DEAD = -8.0


def scale_gradients(
    model: nn.Module,
    optimizer: Optimizer,
    factor: float,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    layers: str | Sequence[str] | None = None,
) -> Injection:
    """Multiply gradients by `factor`: an explosion (20) or a collapse (1e-8).

    `layers` is a layer or several; all if not given.
    """
    factor = check_float("factor", factor)
    parameters = _trainable(check_target(model, optimizer), layers)
    when = When.at_steps(at, every)
    return _on_gradients(optimizer, when, parameters, lambda each: each * factor)


def nan_gradient(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    layer: str | None = None,
    value: float = nan,
) -> Injection:
    """Put NaN, or another `value` (inf, -inf), into one element of one gradient.

    It is the first gradient that backward computes, of `layer` if that is given.
    """
    value = check_value(value)
    parameters = _trainable(check_target(model, optimizer), layer)
    change = partial(with_first, value=value)
    return _on_gradients(optimizer, When.at_steps(at, every), parameters, change, once=True)


def freeze_layer(model: nn.Module, optimizer: Optimizer, *, layer: str, at: int) -> Injection:
    """Give a layer a gradient of exactly zero, from a step on.

    Momentum and weight decay of the optimizer still move it.
    """
    parameters = _trainable(check_target(model, optimizer), layer)
    return _on_gradients(optimizer, When.from_step(at), parameters, torch.zeros_like)


def nan_weight(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    layer: str | None = None,
    value: float = nan,
) -> Injection:
    """Put NaN, or another `value` (inf, -inf), into one element of one weight.

    It is done before the forward pass of the step, and the weight stays changed when the block
    ends. Without `layer` it is the first weight that is not an embedding.
    """
    value, weight = check_value(value), _always_used(check_target(model, optimizer), layer)

    def spoil() -> None:
        weight[(0,) * weight.ndim] = value

    return _on_weights(model, optimizer, When.at_steps(at, every), spoil)


def dead_layer(model: nn.Module, optimizer: Optimizer, *, layer: str, at: int) -> Injection:
    """Kill a layer: from that step on it outputs only zeros after its ReLU.

    Its weight becomes 0 and its bias, if it has one, negative; the optimizer forgets its momentum.
    No gradient brings it back. It stays dead when the block ends. If a normalisation stands between
    the layer and the ReLU, name the normalisation.
    """
    modules = dict(check_target(model, optimizer).named_modules())
    own = {name: dict(each.named_parameters(recurse=False)) for name, each in modules.items()}
    possible = [name for name, parameters in own.items() if "weight" in parameters]
    chosen = own[check_choice("layer with a weight of its own", layer, possible)]

    def kill() -> None:
        for name, level in (("weight", 0.0), ("bias", DEAD)):
            if name in chosen:
                parameter = chosen[name].fill_(level)
                for state in optimizer.state.get(parameter, {}).values():
                    if isinstance(state, Tensor) and state.shape == parameter.shape:
                        state.zero_()  # its momentum

    return _on_weights(model, optimizer, When.at_steps(at), kill)


def raise_learning_rate(optimizer: Optimizer, factor: float, *, at: int) -> Injection:
    """Multiply the learning rate of all groups by `factor`, from a step on.

    The rate is put back when the block ends. A schedule goes on, `factor` times as high: one that
    computes the rate from the last one carries the factor along; one that sets it anew is noticed,
    and the rate raised again just before the step.
    """
    rates = _RaisedRates(optimizer, check_float("factor", factor, above=0))

    def hook(fault: Injection) -> Iterator[RemovableHandle]:
        yield optimizer.register_step_pre_hook(
            lambda *_: rates.multiply() if fault.acts() else None
        )

    return Injection(optimizer, When.from_step(at), hook, undo=rates.put_back)


class _RaisedRates:
    def __init__(self, optimizer: Optimizer, factor: float) -> None:
        self._optimizer, self._factor = optimizer, factor
        self._rates: dict[int, tuple[float, float]] = {}  # by group: as it was, and raised

    def multiply(self) -> None:
        for index, group in enumerate(self._optimizer.param_groups):
            rate = self._without_fault(index, float(group["lr"]))
            self._rates[index] = rate, rate * self._factor
            _set_rate(group, rate * self._factor)

    def put_back(self) -> None:
        for index, group in enumerate(self._optimizer.param_groups):
            if index in self._rates:
                _set_rate(group, self._without_fault(index, float(group["lr"])))
        self._rates.clear()

    def _without_fault(self, index: int, rate: float) -> float:
        """Return what the rate would be without the fault."""
        before, raised = self._rates.get(index, (rate, rate))
        if rate == raised:
            return before
        if not rate or not before:
            return rate
        # A schedule has changed it: did it start from the raised rate, or from its own?
        carried = abs(log(rate / raised)) < abs(log(rate / before))
        return rate / self._factor if carried else rate


def _set_rate(group: dict[str, Any], rate: float) -> None:
    """Set the learning rate of a group; compiled optimizers keep it in a tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def _on_gradients(
    optimizer: Optimizer,
    when: When,
    parameters: Sequence[nn.Parameter],
    change: Callable[[Tensor], Tensor],
    once: bool = False,
) -> Injection:
    def hook(fault: Injection) -> Iterator[RemovableHandle]:
        # Called before the gradient is added to `.grad`. So if several batches make up one step,
        # each is changed once.
        for parameter in parameters:
            yield parameter.register_hook(  # type: ignore[no-untyped-call]
                lambda gradient: change(gradient) if fault.acts() else None
            )

    return Injection(optimizer, when, hook, once=once)


def _on_weights(
    model: nn.Module, optimizer: Optimizer, when: When, change: Callable[[], None]
) -> Injection:
    change = torch.no_grad()(change)

    def hook(fault: Injection) -> Iterator[RemovableHandle]:
        yield ModelHook(lambda *_: change() if fault.acts() else None).add_to(model)

    return Injection(optimizer, when, hook, once=True)


def _find_layer(model: nn.Module, name: str) -> nn.Module:
    layers: dict[str, nn.Module] = {
        name: module
        for name, module in model.named_modules()
        if any(parameter.requires_grad for parameter in module.parameters())
    }
    return layers[check_choice("layer with trainable parameters", name, layers)]


def _trainable(model: nn.Module, layers: str | Sequence[str] | None = None) -> list[nn.Parameter]:
    """Return the trainable parameters of some layers, or of all."""
    names = [layers] if isinstance(layers, str) else layers
    if names is not None:
        check_list("layers", names, str, "names")
    modules = [model] if names is None else [_find_layer(model, name) for name in names]
    found = dict.fromkeys(each for module in modules for each in module.parameters())
    chosen = [parameter for parameter in found if parameter.requires_grad]
    if not chosen:
        what = f"no layers: {short_repr(layers)}" if names is not None else "none in the model"
        raise UsageError(f"There must be trainable parameters to put the fault in, got {what}.")
    return chosen


def _always_used(model: nn.Module, layer: str | None = None) -> nn.Parameter:
    """Return a parameter that takes part in every forward pass, so that a NaN in it is seen.

    In an embedding only the rows that occur in the batch take part, so it is the last choice.
    """
    inside = model if layer is None else _find_layer(model, layer)
    embeddings = {
        parameter
        for module in inside.modules()
        if isinstance(module, nn.Embedding | nn.EmbeddingBag)
        for parameter in module.parameters(recurse=False)
    }
    return min(_trainable(inside), key=embeddings.__contains__)
