"""Copies of a model that can be run safely, and the check that a changed model still works."""

import copy
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin

from sickbay.errors import Declined, UsageError
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_arguments import check_module
from sickbay.printable import raising
from sickbay.probe.hooks import HOOKS


def copy_of(model: nn.Module, memo: dict[int, Any] | None = None) -> nn.Module:
    """Return a deep copy to change. Raise `Declined` if the model cannot be copied or changed.

    `memo` holds parts that are copied already, by the identity of the original; the others are
    added to it.
    """
    check_module(model)
    for name, module in model.named_modules():
        where = f"{name!r}" if name else "The model"
        if hasattr(module, "_orig_mod"):
            raise Declined(f"{where} is compiled; give the module that was compiled.")
        if isinstance(module, torch.jit.ScriptModule):
            raise Declined(f"{where} is scripted; its code cannot be read.")
        if isinstance(module, LazyModuleMixin) and module.has_uninitialized_params():  # type: ignore[misc]
            raise Declined(f"{where} is lazy and has no weights yet; run the model once.")
        if isinstance(module, nn.TransformerDecoderLayer) and "activation" in module._modules:
            raise Declined(f"{where} has a module as activation, which torch does not copy.")
    with raising(Declined, "The model cannot be copied"):
        copied = copy.deepcopy(model, memo)
    _remove_hooks(copied, _is_ours)
    return copied


def bare(model: nn.Module) -> nn.Module:
    """Return a copy without hooks, so that the user's hooks do not see our passes."""
    copied = copy.deepcopy(model)
    # torch's weight norm computes the weight in a hook: that one belongs to the model.
    _remove_hooks(copied, lambda hook: not type(hook).__module__.startswith("torch.nn.utils."))
    return copied


def inputs_of(example: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a copy of the example, since a model may write into its inputs."""
    if not isinstance(example, tuple):
        got = type(example).__name__
        raise UsageError(f"example must be a tuple of the model's arguments, got {got}.")
    with raising(Declined, "The example cannot be copied"):
        return tuple(_copied(each) for each in example)


def run(model: nn.Module, example: tuple[Any, ...], *, training: bool, grad: bool = False) -> Any:
    """Return the output of a bare copy of the model. All random states stay as they are."""
    model, inputs = bare(model).train(training), inputs_of(example)
    with IsolatedRandom(), torch.set_grad_enabled(grad):
        return model(*inputs)


def attempt(model: nn.Module, example: tuple[Any, ...], *, training: bool) -> list[Tensor] | None:
    """Return the tensors in the output of a model, None if it fails."""
    try:
        return tensors_in(run(model, example, training=training))
    except Exception:
        return None


def same_results(one: nn.Module, other: nn.Module, example: tuple[Any, ...]) -> bool:
    """Return whether two models give the same output, in training and in evaluation."""
    for training in (False, True):
        wanted, got = (attempt(each, example, training=training) for each in (one, other))
        if wanted is None or got is None:
            if wanted is not got:
                return False
        elif len(wanted) != len(got) or not all(map(_close, wanted, got)):
            return False
    return True


def checked(
    changed: nn.Module,
    model: nn.Module,
    example: tuple[Any, ...],
    alike: Callable[[Any, Any], bool] | None = None,
) -> nn.Module:
    """Return the changed model. Raise `Declined` unless its output fits and it can be trained."""
    inputs_of(example)  # refuses an example that is not a tuple
    with raising(Declined, "The model cannot be run on the example"):
        before = run(model, example, training=False)
    with raising(Declined, "The changed model cannot be run on the example"):
        after = run(changed, example, training=False)
    if not (alike or (lambda a, b: shape_of(a) == shape_of(b)))(before, after):
        raise Declined(
            f"The changed model outputs {shape_of(after)} instead of {shape_of(before)}."
        )
    # A model with batch norm cannot be trained on a single sample anyway.
    training = attempt(model, example, training=True) is not None
    with raising(Declined, "The changed model cannot be trained"):
        outputs = tensors_in(run(changed, example, training=training, grad=True))
        sums = [each.abs().float().sum() for each in outputs if each.requires_grad]
        if sums:
            torch.stack(sums).sum().backward()  # type: ignore[no-untyped-call]
    return changed


def shape_of(output: Any) -> Any:
    """Return the shapes in a nested output.

    >>> shape_of({"a": torch.ones(2), "b": [torch.ones(1, 3), None]})
    {'a': (2,), 'b': [(1, 3), None]}
    """
    if isinstance(output, Tensor):
        return tuple(output.shape)
    if isinstance(output, dict):
        return {key: shape_of(value) for key, value in output.items()}
    if isinstance(output, tuple | list):
        return [shape_of(each) for each in output]
    return output if output is None or isinstance(output, str | int) else type(output).__name__


def tensors_in(value: Any) -> list[Tensor]:
    """Return all tensors in a nested value."""
    if isinstance(value, Tensor):
        return [value]
    if value is None or isinstance(value, str | int | float):
        return []
    items = value if isinstance(value, tuple | list) else parts_of(value).values()
    return [tensor for each in items for tensor in tensors_in(each)]


def parts_of(value: Any) -> Mapping[str, Any]:
    """Return what a mapping, a dataclass or a graph of torch_geometric holds, by name.

    >>> dict(parts_of({"a": 1})), dict(parts_of(3))
    ({'a': 1}, {})
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, type | nn.Module):
        return {}
    if is_dataclass(value):
        return {each.name: getattr(value, each.name, None) for each in fields(value)}
    if hasattr(value, "edge_index") or (hasattr(value, "pos") and hasattr(value, "batch")):
        held = value.to_dict() if callable(getattr(value, "to_dict", None)) else None
        return held if isinstance(held, dict) else {}
    return {}


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or not one.is_floating_point():
        return torch.equal(one, other)
    finite = one[one.isfinite()]
    # Sums on a GPU have no fixed order.
    slack = 1e-5 * finite.abs().max().item() if finite.numel() else 0.0
    return torch.allclose(one, other, rtol=1e-4, atol=slack, equal_nan=True)


def copy_with_strides(tensor: Tensor) -> Tensor:
    """Return a copy with the same strides, so that `view` fails on it where it would fail before.

    >>> given = torch.zeros(2, 4)[:, 1:], torch.zeros(1).expand(3)
    >>> [copy_with_strides(each).stride() for each in given]
    [(4, 1), (1,)]
    """
    if tensor.layout != torch.strided or tensor.is_contiguous() or _overlaps(tensor):
        return tensor.clone()
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    ).copy_(tensor)


def _overlaps(tensor: Tensor) -> bool:
    """Return whether places of a tensor may share memory, as after `expand` or `unfold`."""
    reach = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride < reach:
            return True
        reach = max(reach, stride * size)
    return False


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return copy_with_strides(value.detach())
    if type(value) is dict:
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(_copied(each) for each in value)
    return copy.deepcopy(value)


def _remove_hooks(model: nn.Module, unwanted: Callable[[Any], bool]) -> None:
    for module in model.modules():
        for kind in HOOKS:
            hooks: OrderedDict[int, Any] = getattr(module, kind)
            for key in [key for key, hook in hooks.items() if unwanted(hook)]:
                del hooks[key]


def _is_ours(hook: Any) -> bool:
    """Return whether this is what remains of a doctor's hook in a copy, see `probe.hooks`."""
    return isinstance(getattr(hook, "__self__", None), nullcontext)
