"""Where a fault goes: layers and parameters by their names, and single values."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.arguments import bad_argument, check_choice, check_list, short_repr
from sickbay.errors import UsageError
from sickbay.model_arguments import check_module, check_optimizer, unwrap_compiled


def check_target(model: object, optimizer: object) -> nn.Module:
    """Return the model without its compiler; raise `UsageError` unless the optimizer is its own."""
    module = check_module(model)
    check_optimizer(optimizer, module)
    return unwrap_compiled(module)


def rebuilt(value: list[Any] | tuple[Any, ...], items: Sequence[Any]) -> Any:
    """Return a list, tuple or named tuple like `value`, of other items."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def find_layer(model: nn.Module, name: str) -> nn.Module:
    """Return the layer called `name`, as in `named_modules`; it must have trainable parameters."""
    layers: dict[str, nn.Module] = {
        name: module
        for name, module in model.named_modules()
        if any(parameter.requires_grad for parameter in module.parameters())
    }
    return layers[check_choice("layer with trainable parameters", name, layers)]


def trainable(model: nn.Module, layers: str | Sequence[str] | None = None) -> list[nn.Parameter]:
    """Return the trainable parameters of some layers, or of all."""
    names = [layers] if isinstance(layers, str) else layers
    if names is not None:
        check_list("layers", names, str, "names")
    modules = [model] if names is None else [find_layer(model, name) for name in names]
    each = {parameter: None for module in modules for parameter in module.parameters()}
    chosen = [parameter for parameter in each if parameter.requires_grad]
    if not chosen:
        what = f"no layers: {short_repr(layers)}" if names is not None else "none in the model"
        raise UsageError(f"There must be trainable parameters to put the fault in, got {what}.")
    return chosen


def always_used(model: nn.Module, layer: str | None = None) -> nn.Parameter:
    """Return a parameter that takes part in every forward pass, so that a NaN in it is seen.

    Of an embedding only the rows take part that occur in the batch; it is taken if there is nothing
    else.
    """
    inside = model if layer is None else find_layer(model, layer)
    embeddings = {
        parameter
        for module in inside.modules()
        if isinstance(module, nn.Embedding | nn.EmbeddingBag)
        for parameter in module.parameters(recurse=False)
    }
    return min(trainable(inside), key=embeddings.__contains__)


def check_value(value: float) -> float:
    """Return the value, or say that it must be NaN or infinite."""
    if not isinstance(value, float) or isfinite(value):
        raise bad_argument("value", "nan, inf or -inf", value)
    return value


def spoilt(tensor: Tensor, value: float = nan) -> Tensor:
    """Return a copy with `value` as its first element.

    >>> spoilt(torch.ones(2, 2)).tolist()
    [[nan, 1.0], [1.0, 1.0]]
    """
    if tensor.layout is not torch.strided:
        tensor = tensor.coalesce()
        values = spoilt(tensor.values(), value)
        return torch.sparse_coo_tensor(
            tensor.indices(), values, tensor.shape, check_invariants=False
        )
    copy = tensor.clone()
    if copy.numel():
        copy[(0,) * copy.ndim] = value
    return copy


def clear_momentum(optimizer: Optimizer, parameter: nn.Parameter) -> None:
    """Let the optimizer forget the past gradients of a parameter."""
    for state in optimizer.state.get(parameter, {}).values():
        if isinstance(state, Tensor) and state.shape == parameter.shape:
            state.zero_()
