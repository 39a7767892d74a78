"""Check the models, optimizers and devices that callers pass in, before anything is changed."""

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter
from torch.optim import Optimizer

from sickbay.arguments import short_repr
from sickbay.errors import UsageError
from sickbay.printable import error_message


def check_module(model: object) -> nn.Module:
    """Raise `UsageError` unless `model` is a module.

    >>> check_module(nn.Linear)
    Traceback (most recent call last):
    sickbay.errors.UsageError: model must be a torch.nn.Module, got the class Linear; pass an instance.
    """  # noqa: E501
    if isinstance(model, type):
        got = f"the class {model.__name__}; pass an instance"
        raise UsageError(f"model must be a torch.nn.Module, got {got}.")
    if not isinstance(model, nn.Module):
        raise UsageError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    return model


def check_model(model: object, *, trainable: bool = False, lazy: bool = True) -> nn.Module:
    """Raise `UsageError` unless `model` is a module with weights.

    `trainable` requires a parameter that needs a gradient. `lazy` allows parameters whose shape is
    unknown until the first forward pass.
    """
    module = check_module(model)
    if trainable and not any(parameter.requires_grad for parameter in module.parameters()):
        raise UsageError("model must have parameters that require a gradient, got none.")
    for name, parameter in module.named_parameters():
        if not lazy and isinstance(parameter, UninitializedParameter):
            raise UsageError(f"model must have weights, got a lazy {name!r}; run it once first.")
        if parameter.is_meta:
            raise UsageError(f"model must have weights, got {name!r} on the meta device.")
    return module


def check_optimizer(
    optimizer: object, model: nn.Module | None = None, rule: str = "a torch.optim.Optimizer"
) -> Optimizer:
    """Raise `UsageError` unless `optimizer` is one, and holds parameters of `model` if given."""
    kind = type(optimizer).__name__
    if not isinstance(optimizer, Optimizer):
        raise UsageError(f"optimizer must be {rule}, got {kind}.")
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if model is None or any(id(parameter) in held for parameter in model.parameters()):
        return optimizer
    others = f"{len(held)} parameters, none of them of the {type(model).__name__}"
    got = f"{kind} with {others if held else 'none'}"
    raise UsageError(f"optimizer must hold parameters of the model, got {got}.")


def unwrap_compiled(model: nn.Module) -> nn.Module:
    """Return the module inside a `torch.compile` wrapper, or the model itself."""
    inner = getattr(model, "_orig_mod", model)
    return inner if isinstance(inner, nn.Module) else model


def check_device(name: str, value: object) -> torch.device:
    """Return a device with its index. Raise `UsageError` unless torch can use it."""
    try:
        device = torch.device(value)  # type: ignore[call-overload]
        torch.zeros(1, device=device).item()
    except Exception as error:  # a missing device raises whatever its driver likes
        got = f"{short_repr(value)}: {error_message(error)}"
        raise UsageError(f"{name} must be one that torch can use here, got {got}") from error
    return torch.empty(0, device=device).device
