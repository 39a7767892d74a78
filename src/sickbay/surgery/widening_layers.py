"""Widening hidden layers, in networks that are too small for their task."""

from fractions import Fraction
from typing import Any

from torch import Tensor, nn

from sickbay.arguments import check_int, check_seed
from sickbay.errors import Declined, Needless
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import checked, copy_of, shape_of
from sickbay.printable import raising
from sickbay.surgery import torch_operations as ops
from sickbay.surgery.layers_of_other_sizes import (
    BATCH_NORMS,
    CONVOLUTIONS,
    EMBEDDINGS,
    RECURRENT,
    resized,
)
from sickbay.surgery.linear_paths import LINEAR, paths_from
from sickbay.surgery.record_forward import ForwardPass, Operation, record_forward

POOLING = frozenset(f"{name}max_pool{dims}d" for name in ("", "adaptive_") for dims in "123")
# They treat every unit alike, or move it.
BY_UNIT = LINEAR | ops.HIDDEN | POOLING

Scale = dict[str, Fraction]  # by the name of a module


def widen_layers(
    model: nn.Module, example: tuple[Any, ...], width: int, *, seed: int, squeezing: bool = False
) -> nn.Module:
    """Return a copy of the model whose hidden layers have at least `width` units or channels.

    Embeddings count as layers. Layers that change get new weights, drawn as torch does. Layers with
    frozen weights stay, and so do those whose outputs are added, joined or compared with others.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        width: The least units of a hidden layer.
        seed: The seed of the new weights.
        squeezing: Whether to widen a model that gives back something in the shape of its input.
            There, a narrow layer may be the purpose.

    Raises:
        Declined: If every layer is as wide, it cannot be done safely, or the model may be
            `squeezing` its input on purpose.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
        >>> widen_layers(model, (torch.ones(2, 3),), 16, seed=0)[0]
        Linear(in_features=3, out_features=16, bias=True)
    """
    width, seed = check_int("width", width, least=1), check_seed(seed)
    result = copy_of(model)
    forward = record_forward(result, example)
    inputs = [each for each in example if isinstance(each, Tensor)]
    if not squeezing and inputs and shape_of(forward.output) == shape_of(inputs[0]):
        raise Declined("The model may be meant to squeeze its inputs through narrow layers.")
    outputs, uses = _plan(result, forward, width)
    if not outputs:
        raise Needless(f"There is no hidden layer of less than {width} units to widen.")
    with raising(Declined, "The layers cannot be widened"), IsolatedRandom(seed):
        for path in sorted(outputs.keys() | uses.keys()):
            scales = uses.get(path, Fraction(1)), outputs.get(path, Fraction(1))
            _replace(result, path, resized(result.get_submodule(path), *scales))
    return checked(result, model, example)


def _plan(model: nn.Module, forward: ForwardPass, width: int) -> tuple[Scale, Scale]:
    """Return by how much the outputs of layers grow, and by how much the inputs of others do."""
    outputs: Scale = {}
    uses: Scale = {}
    for path in forward.classes:
        layer = model.get_submodule(path)
        units = _units(layer)
        if not 0 < units < width or not _is_plain(model, path, forward):
            continue
        followers = _followers(model, forward, path)
        if followers and not followers & uses.keys():
            outputs[path] = Fraction(width, units)
            uses |= dict.fromkeys(followers, outputs[path])
    return outputs, uses


def _followers(model: nn.Module, forward: ForwardPass, path: str) -> set[str]:
    """Return the modules that must grow with a layer; none if that cannot be told."""
    [call] = _calls(forward, path)
    paths = paths_from(forward, call, BY_UNIT)
    norms = [each for each in paths.through if each.name in ops.NORMS]
    found = {each.path for each in (*norms, *paths.into)}
    known = all(each.path != path and _is_plain(model, each.path, forward) for each in paths.into)
    normal = all(_is_norm(model.get_submodule(each.path)) for each in norms)
    return found if paths.into and known and normal and not paths.is_output else set()


def _calls(forward: ForwardPass, path: str) -> list[Operation]:
    return [each for each in forward.operations if each.path == path and each.name in ops.LAYERS]


def _units(layer: nn.Module) -> int:
    """Return the width of a layer that can be widened, 0 for other modules."""
    if type(layer) is nn.Linear:
        return layer.out_features
    if type(layer) in CONVOLUTIONS and layer.groups == 1:
        return int(layer.out_channels)  # type: ignore[arg-type]
    if type(layer) in RECURRENT and not getattr(layer, "proj_size", 0):
        return int(layer.hidden_size)  # type: ignore[arg-type]
    if type(layer) in EMBEDDINGS:
        return int(layer.embedding_dim)  # type: ignore[arg-type]
    return 0


def _is_norm(module: nn.Module) -> bool:
    return type(module) in (*BATCH_NORMS, nn.LayerNorm)


def _is_plain(model: nn.Module, path: str, forward: ForwardPass) -> bool:
    """Return whether a layer is called once, trainable, and all its weights are its own."""
    layer = model.get_submodule(path)
    own = {id(each) for each in layer.parameters()}
    held = [each for _, each in model.named_parameters(remove_duplicate=False) if id(each) in own]
    return (
        _units(layer) > 0
        and len(_calls(forward, path)) == 1
        and len(held) == len(own)
        and all(each.requires_grad for each in held)
        and not layer._forward_pre_hooks
    )


def _replace(model: nn.Module, path: str, new: nn.Module) -> None:
    parent, _, name = path.rpartition(".")
    model.get_submodule(parent)._modules[name] = new
