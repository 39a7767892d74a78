from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.norms import norms_of, odd
from sickbay.checkups.report import Result
from sickbay.checkups.wording import several
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class NormalisationNormalises(Statement):
    """Every norm layer brings its inputs to one scale, over values that vary.

    Why it matters:
        A norm that divides by the wrong thing hides the signal that it should steady.

    How it is tested:
        Settings of torch's norms must be sane, and more than one value be normalised together. Own
        layers whose names end in Norm are fed random values: larger ones, and moved ones where a
        mean is taken off, must come out the same, and each sample by itself.
    """

    severity = "warning"
    remedy = "divide by sqrt(var + eps) over the features; keep eps small and 0 < momentum < 1"
    eps: float = threshold(0.1, "What an eps should stay below.", above=0)

    def examine(self, case: Case) -> Result:
        _ = case.seen
        fed: dict[str, tuple[int, ...]] = {}
        with case.patient(training=True) as model:
            layers = norms_of(model)
            if not layers:
                raise Inapplicable("the model has no norm layers")
            for name, layer in layers.items():
                layer.register_forward_pre_hook(_noted(fed, name))
            with torch.no_grad():
                case.run(model, case.batch)
            reasons = {
                name: why
                for name, shape in fed.items()
                if (why := self._settings(layers[name], shape) or odd(layers[name], shape))
            }
        if reasons:
            name = next(iter(reasons))
            same = [each for each, why in reasons.items() if why == reasons[name]]
            return self.fails(f"{several(same, len(fed))} {reasons[name]}", layers=reasons)
        return self.holds(f"all {len(fed)} norm layers normalise", layers=len(fed))

    def _settings(self, layer: nn.Module, shape: tuple[int, ...]) -> str:
        """Say what is wrong with how one of torch's layers is set, "" if nothing is."""
        eps = getattr(layer, "eps", None)
        if isinstance(eps, float) and not 0 < eps < self.eps:
            return f"has an eps of {eps:g}, the limit is {self.eps:g}"
        if isinstance(layer, _NormBase) and layer.track_running_stats:
            if layer.momentum is not None and not 0 < layer.momentum < 1:
                return f"has a momentum of {layer.momentum:g}: it must be above 0 and below 1"
            if not layer.training and _untouched(layer):
                return "stays in evaluation, with statistics of no data"
        together = 0
        if isinstance(layer, nn.LayerNorm):
            together = prod(layer.normalized_shape)
        elif isinstance(layer, nn.GroupNorm):
            together = layer.num_channels // layer.num_groups * prod(shape[2:])
        return "normalises over a single value, which gives zeros" if together == 1 else ""


def _noted(fed: dict[str, tuple[int, ...]], name: str) -> Any:
    def hook(_: nn.Module, args: Any) -> None:
        if len(args) == 1 and isinstance(args[0], Tensor):
            fed.setdefault(name, tuple(args[0].shape))

    return hook


def _untouched(layer: _NormBase) -> bool:
    """Tell whether running statistics are still what they were made as."""
    mean, var = layer.running_mean, layer.running_var
    return mean is not None and var is not None and not mean.any() and bool((var == 1).all())
