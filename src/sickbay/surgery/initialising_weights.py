"""Drawing new weights by the rules of He, LeCun and Glorot."""

from math import prod

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from sickbay.arguments import check_choice, check_seed
from sickbay.errors import Declined, Needless
from sickbay.model_copies import copy_of

SCHEMES = {
    f"{rule}_{law}": (rule, law)
    for rule in ("he", "lecun", "glorot")
    for law in ("uniform", "normal")
}
NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
KERNELS = (nn.Linear, _ConvNd, nn.Bilinear, nn.MultiheadAttention, nn.RNNBase, nn.RNNCellBase)


def initialise(model: nn.Module, scheme: str, *, seed: int) -> nn.Module:
    """Return a copy of the model with new weights in its linear, convolution and recurrent layers.

    Biases become 0, except 1 at the forget gates of an LSTM. Weights from state to state become
    orthogonal. Norms are reset. Embeddings, frozen parameters and parameters of the user's own
    modules stay.

    Args:
        model: The model, which is not touched.
        scheme: "he", "lecun" or "glorot" with "_uniform" or "_normal".
        seed: The seed of the draws, which leave torch's global generator alone.

    Raises:
        Declined: If a weight is computed from others, or there is none to draw.

    Example:
        >>> model = initialise(nn.Linear(100, 100), "lecun_normal", seed=0)
        >>> round(model.weight.std().item(), 2), model.bias.abs().sum().item()
        (0.1, 0.0)
    """
    check_choice("scheme", scheme, SCHEMES)
    seed = check_seed(seed)
    result = copy_of(model)
    generator = torch.Generator().manual_seed(seed)
    done: set[int] = set()
    with torch.no_grad():
        for name, module in result.named_modules():
            if isinstance(module, KERNELS):
                _check_plain(name, module)
                _draw(module, scheme, generator, done)
            elif isinstance(module, NORMS):
                _reset(module)
    if not done:
        raise Needless("There is no weight that a scheme could draw and that is not frozen.")
    return result


def _check_plain(name: str, module: nn.Module) -> None:
    """Decline computed weights: weight norm, spectral norm, pruning."""
    hooks = [type(hook).__module__ for hook in module._forward_pre_hooks.values()]
    hooked = any(each.startswith("torch.nn.utils.") for each in hooks)
    if hasattr(module, "parametrizations") or hooked:
        raise Declined(f"The weights of {name!r} are computed from other parameters.")


def _draw(module: nn.Module, scheme: str, generator: torch.Generator, done: set[int]) -> None:
    for name, parameter in module.named_parameters(recurse=False):
        if not parameter.requires_grad or id(parameter) in done:
            continue
        done.add(id(parameter))
        if "bias" in name:
            parameter.zero_()
            if isinstance(module, nn.LSTM | nn.LSTMCell) and name.startswith("bias_ih"):
                parameter.chunk(4)[1].fill_(1.0)  # the forget gate; its other bias stays 0
        elif name.startswith("weight_hh"):
            for gate in _parts(module, name, parameter):
                drawn = torch.empty(gate.shape)
                gate.copy_(nn.init.orthogonal_(drawn, generator=generator))
        else:
            for part in _parts(module, name, parameter):
                _draw_kernel(part, scheme, *_fans(module, part), generator)


def _draw_kernel(
    kernel: Tensor, scheme: str, fan_in: float, fan_out: float, generator: torch.Generator
) -> None:
    """Keep the scale of signals and, by Glorot's rule, of gradients too.

    The draw is made on the CPU, so it is the same on every device.
    """
    rule, law = SCHEMES[scheme]
    fan = (fan_in + fan_out) / 2 if rule == "glorot" else fan_in
    std = ((2.0 if rule == "he" else 1.0) / fan) ** 0.5
    drawn = torch.empty(kernel.shape)
    if law == "normal":
        drawn.normal_(0.0, std, generator=generator)
    else:
        drawn.uniform_(-(3**0.5) * std, 3**0.5 * std, generator=generator)
    kernel.copy_(drawn)


def _parts(module: nn.Module, name: str, kernel: Tensor) -> tuple[Tensor, ...]:
    """Return the kernels that one tensor holds: of the gates, or of query, key and value."""
    is_gated = name.startswith(("weight_ih", "weight_hh"))
    if is_gated and isinstance(module, nn.LSTM | nn.LSTMCell):
        return kernel.chunk(4)
    is_triple = is_gated and isinstance(module, nn.GRU | nn.GRUCell)
    return kernel.chunk(3 if is_triple or name == "in_proj_weight" else 1)


def _fans(module: nn.Module, kernel: Tensor) -> tuple[float, float]:
    """Return how many inputs an output of a kernel has, and how many outputs an input feeds."""
    field = prod(kernel.shape[2:])
    if isinstance(module, _ConvTransposeNd):
        # Only every stride-th input meets an output, so fewer go into it.
        inputs = kernel.shape[0] / module.groups * field / prod(module.stride)
        return max(inputs, 1.0), kernel.shape[1] * field
    if isinstance(module, _ConvNd):
        return kernel.shape[1] * field, kernel.shape[0] / module.groups * field
    if isinstance(module, nn.Bilinear):
        return kernel.shape[1] * kernel.shape[2], kernel.shape[0]
    return kernel.shape[1], kernel.shape[0]


def _reset(norm: nn.Module) -> None:
    for name, parameter in norm.named_parameters(recurse=False):
        if parameter.requires_grad:
            parameter.fill_(1.0 if name == "weight" else 0.0)
    if isinstance(norm, _NormBase):
        norm.reset_running_stats()
