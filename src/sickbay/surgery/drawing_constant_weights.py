"""Drawing weights that are all the same, so that units can learn different things."""

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from sickbay.arguments import check_seed
from sickbay.errors import Needless
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import copy_of
from sickbay.surgery.torch_operations import is_from_torch

DRAWN = (nn.Linear, _ConvNd, nn.Bilinear, nn.Embedding, nn.RNNBase, nn.RNNCellBase)


def draw_constant_weights(model: nn.Module, *, seed: int) -> nn.Module:
    """Return a copy of the model with new weights in layers whose weights are all the same.

    Layers are drawn as torch does, embeddings so that their vectors are about 1 long. Of matrices
    that a module of the user's own holds, the first is drawn: the others then get a gradient, as
    in an addition of low rank. Frozen layers, and those of a single unit, stay.

    Args:
        model: The model, which is not touched.
        seed: The seed of the new weights.

    Raises:
        Declined: If there is no such layer.

    Example:
        >>> layer = nn.Linear(4, 3)
        >>> layer.weight.data.zero_().sum().item()
        0.0
        >>> bool(draw_constant_weights(layer, seed=0).weight.std() > 0)
        True
    """
    seed, result = check_seed(seed), copy_of(model)
    alike = [each for each in result.modules() if is_constant(each)]
    if not alike:
        raise Needless("No layer has weights that are all the same.")
    with IsolatedRandom(seed), torch.no_grad():
        for layer in alike:
            if isinstance(layer, nn.Embedding):
                layer.weight.normal_(0.0, layer.embedding_dim**-0.5)
                if layer.padding_idx is not None:
                    layer.weight[layer.padding_idx] = 0.0
            elif isinstance(layer, DRAWN):
                layer.reset_parameters()
            else:
                nn.init.kaiming_uniform_(_kernels(layer)[0], a=5**0.5)
    return result


def is_constant(layer: nn.Module) -> bool:
    """Return whether all weights of a layer that has several units are the same."""
    own = not is_from_torch(type(layer))
    if not isinstance(layer, DRAWN) and not own:
        return False
    kernels = _kernels(layer)
    return len(kernels) > own and all(map(_is_constant, kernels))


def _kernels(layer: nn.Module) -> list[nn.Parameter]:
    return [each for each in layer.parameters(recurse=False) if each.ndim > 1]


def _is_constant(weight: Tensor) -> bool:
    several = min(weight.shape[:2]) > 1 and weight.requires_grad and not weight.is_meta
    return several and bool((weight == weight.flatten()[0]).all())
