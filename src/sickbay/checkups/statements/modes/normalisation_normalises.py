"""Longer than 60 lines: settings of torch's norms and behaviour of others are checked."""

from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.norm_layers import (
    MULTIPLIED,
    SQUARED,
    TORCH_NORMS,
    close,
    norm_power,
    without_shift,
)
from sickbay.checkups.wording import several

TOO_LARGE = 10.0  # size that a norm should not give
SHIFT, LARGER = 2.0, 1.5  # what is added to inputs, and how much larger outputs may get
MISTAKES = {
    SQUARED: "gives smaller outputs for larger inputs: it divides by a square",
    MULTIPLIED: "multiplies by the size of its inputs instead of dividing",
}


@dataclass(frozen=True, kw_only=True)
class NormalisationNormalises(Statement):
    """Every norm layer brings its inputs to the same scale, and normalises values that vary.

    Why it matters:
        A norm that divides by the wrong quantity hides the signal that it should stabilise.

    How it is tested:
        Settings of torch's norms must be sane, and more than one value must be normalised together.
        Other layers are fed random values and larger ones. If the outputs show that a layer is a
        norm, they must not depend on that scale. They must be finite for zeros, and their size must
        be around 1 and not grow with the mean of the inputs.
    """

    order = 1
    severity = "warning"
    remedy = "divide by sqrt(var + eps) over the features; keep eps small and 0 < momentum < 1"
    eps: float = threshold(0.1, "Upper limit for an eps.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        shapes: dict[str, tuple[int, ...]] = {}
        with setup.model_copy(training=True) as model:
            layers = {n: each for n, each in model.named_modules() if not list(each.children())}
            for name, layer in layers.items():
                layer.register_forward_pre_hook(_record_shape(shapes, name))
            with torch.no_grad():
                setup.run(model, setup.batch)
            reasons = {name: self._mistake(layers[name], shapes[name]) for name in shapes}
        norms = {name: reason for name, reason in reasons.items() if reason is not None}
        if not norms:
            raise Inapplicable("the model has no norm layers")
        wrong = {name: reason for name, reason in norms.items() if reason}
        if wrong:
            reason = next(iter(wrong.values()))
            names = [name for name, other in wrong.items() if other == reason]
            return self.fails(f"{several(names, len(norms))} {reason}", layers=wrong)
        return self.holds(f"all {len(norms)} norm layers normalise", layers=len(norms))

    def _mistake(self, layer: nn.Module, shape: tuple[int, ...]) -> str | None:
        """Return what is wrong with a norm, "" if nothing is, None if the layer is no norm."""
        if isinstance(layer, TORCH_NORMS):
            return self._wrong_setting(layer, shape)
        if type(layer).__module__.startswith("torch.") or len(shape) < 2 or shape[0] < 2:
            return None
        device = next((each.device for each in layer.parameters()), None)
        values = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device)
        power = norm_power(layer, values)
        if power is None or power in MISTAKES:
            return None if power is None else MISTAKES[power]
        with torch.no_grad():
            if not torch.as_tensor(layer(torch.zeros_like(values))).isfinite().all():
                return "gives NaN or Inf for zeros: it has no eps"
        usual, moved = (without_shift(layer, each) for each in (values, values + SHIFT))
        if _has_unit_norm(usual):
            return ""
        if (size := _size(layer, usual)) > TOO_LARGE:
            return f"gives values of size {size:.2g}, not 1"
        if _size(layer, moved) > LARGER * size:
            return "gives larger outputs for shifted inputs: it does not subtract the mean"
        return self._wrong_setting(layer, shape)

    def _wrong_setting(self, layer: nn.Module, shape: tuple[int, ...]) -> str:
        """Return what is wrong with the settings of a norm, "" if nothing is."""
        eps = getattr(layer, "eps", None)
        if isinstance(eps, float) and not 0 < eps < self.eps:
            return f"has an eps of {eps:g}, the limit is {self.eps:g}"
        if isinstance(layer, _NormBase) and layer.track_running_stats:
            if layer.momentum is not None and not 0 < layer.momentum < 1:
                return f"has a momentum of {layer.momentum:g}: it must be above 0 and below 1"
            if not layer.training and _is_untouched(layer):
                return "stays in evaluation, but has not seen any data"
        together = 0
        if isinstance(layer, nn.LayerNorm):
            together = prod(layer.normalized_shape)
        elif isinstance(layer, nn.GroupNorm):
            together = layer.num_channels // layer.num_groups * prod(shape[2:])
        return "normalises over a single value, which gives zeros" if together == 1 else ""


def _record_shape(shapes: dict[str, tuple[int, ...]], name: str) -> Any:
    def hook(_: nn.Module, args: Any) -> None:
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].is_floating_point():
            shapes.setdefault(name, tuple(args[0].shape))

    return hook


def _size(layer: nn.Module, values: Tensor) -> float:
    """Return the root mean square of an output, relative to the layer's own weights."""
    scales = [each.detach().square().mean() for each in layer.parameters() if each.any()]
    weight = torch.stack(scales).max().sqrt() if scales else torch.ones(())
    return float(values.square().mean().sqrt() / weight.clamp(min=1e-12))


def _has_unit_norm(values: Tensor) -> bool:
    """Return whether values sum to one or have length one along a dimension, which is fine too."""
    sums = [values.sum(dim) for dim in range(values.ndim)]
    lengths = [values.norm(dim=dim) for dim in range(values.ndim)]
    return any(close(torch.ones_like(each), each) for each in (*sums, *lengths))


def _is_untouched(layer: _NormBase) -> bool:
    """Return whether running statistics still have their initial values."""
    mean, var = layer.running_mean, layer.running_var
    return mean is not None and var is not None and not mean.any() and bool((var == 1).all())
