"""Longer than 60 lines: it also finds the weights that multiply, and measures them."""

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.compare_outputs import difference, fill_zero_weights
from sickbay.checkups.statements.gradients.first_steps import reached_parameters
from sickbay.checkups.statements.sequences.samples_and_positions import altered, changed
from sickbay.checkups.wording import several

BRANCH = 1e-3  # change of the output with the input, relative to its size
LARGEST_OUTWARD = 3.0  # twice the usual size relative to the number of units
# Operations, by the dimension of a weight that counts units: the first, the second, or unknown.
FIRST = {"linear", "conv1d", "conv2d", "conv3d", "bilinear", "multi_head_attention_forward"}
FIRST |= {"lstm", "gru", "rnn_tanh", "rnn_relu"}
FIRST |= {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}
SECOND = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
UNKNOWN = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "addmm", "baddbmm", "einsum"}


@dataclass(frozen=True, kw_only=True)
class ParametersAreSane(Statement):
    """The initial weights are finite, differ between units and have a typical size.

    Why it matters:
        Units that start equal stay equal, and weights that are far too large or small hardly train.

    How it is tested:
        Only weights that multiply their input are judged. Their root mean square times the square
        root of the number of inputs is usually between 0.1 and 2. A layer may start at zero if it
        gets a gradient within the first steps. The weights of the last layer may be small, and so
        may those of a branch: without them the output still depends on the input. Units may start
        equal if each makes outputs of its own, which have targets of their own.
    """

    order = 1
    remedy = "initialise with torch.nn.init.kaiming_normal_ or xavier_uniform_"

    largest: float = threshold(10.0, "Size of weights that is too large.", above=1)
    smallest: float = threshold(1e-3, "Size of weights that is too small.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        named = dict(setup.model.named_parameters())
        if not named:
            raise Inapplicable("the model has no parameters")
        broken = [name for name, each in named.items() if not each.isfinite().all()]
        if broken:
            message = f"{several(broken, len(named), 'contains', 'contain')} NaN or Inf"
            return self.fails(message, layers=broken)
        weights = _weights(setup)
        zero = [each.name for each in weights if not each.size]
        zero = [name for name in zero if name not in setup.once(reached_parameters)]
        constant = [each.name for each in weights if each.constant]
        symmetric = [each.name for each in weights[:-1] if each.symmetric]
        for names, singular, plural in (
            (zero, "stays at zero", "stay at zero"),
            (constant, "holds a single value", "hold a single value"),
            (symmetric, "is the same in every unit", "are the same in every unit"),
        ):
            names = [name for name in names if name in zero or not _own_outputs(setup, name)]
            if names:
                message = several(names, len(weights), singular, plural)
                return self.fails(message, layers=names)
        return self._check_sizes(setup, weights)

    def _check_sizes(self, setup: ModelSetup, weights: list["_Weight"]) -> Result:
        sizes = {each.name: each.size for each in weights if each.size}
        judged = [each for each in weights if not each.embedding][:-1]
        small = [each.name for each in judged if 0 < each.size < self.smallest]
        small = [] if small and _is_branch(setup, small) else small
        large = [
            each.name
            for each in weights
            if min(each.size / self.largest, each.outward / LARGEST_OUTWARD) > 1
        ]
        for names, limit in ((large, self.largest), (small, self.smallest)):
            if names:
                size = sizes[names[0]]
                which = several(names, len(weights), "has", "have")
                message = f"{which} a size of {size:.3g} (limit {limit:g}, usually 0.1 to 2)"
                return self.fails(message, layers=names, size=size)
        most, least = max(sizes.values(), default=0.0), min(sizes.values(), default=0.0)
        message = f"{len(weights)} weights have sizes from {least:.2g} to {most:.2g}"
        return self.holds(message, largest=most, smallest=least)


@dataclass(frozen=True)
class _Weight:
    """A weight as seen by the operation that uses it."""

    name: str
    size: float  # root mean square times the square root of the number of inputs of a unit
    outward: float  # the same with the number of units, which some initialisations use
    constant: bool = False  # all values are equal, and not zero
    symmetric: bool = False  # all units have the same weights, and not zero
    embedding: bool = False  # rows are looked up one by one


def _weights(setup: ModelSetup) -> list[_Weight]:
    """Return the trainable weights that multiply their input, in the order of the model.

    Weights that are scaled or reshaped before use do not count: their own size says nothing.
    """
    found = []
    for name, parameter in setup.model.named_parameters():
        operations = setup.first_pass.operations.get(name, set())
        if not parameter.requires_grad or parameter.ndim < 2:
            continue
        weight = parameter.detach()
        weight = weight.abs() if weight.is_complex() else weight.float()
        if "embedding" in operations:
            size = weight.square().mean().sqrt().item()
            found.append(_Weight(name, size, size * sqrt(weight.shape[1]), embedding=True))
        elif operations & (FIRST | SECOND):
            layer = setup.model.get_submodule(name.rpartition(".")[0])
            grouped = getattr(layer, "groups", 1) != 1  # units that see different inputs
            found.append(_of_layer(name, weight, 0 if operations & FIRST else 1, grouped))
        elif operations & UNKNOWN:
            found.append(_of_product(name, weight))
    return found


def _of_layer(name: str, weight: Tensor, dim: int, grouped: bool) -> _Weight:
    units = weight.shape[dim]
    inputs = weight.numel() // units
    scale = weight.square().mean().sqrt().item()
    judged = units > 1 and not grouped and bool(scale)
    constant = judged and inputs > 1 and _is_constant(weight)
    symmetric = judged and bool((weight == weight.narrow(dim, 0, 1)).all())
    return _Weight(name, scale * sqrt(inputs), scale * sqrt(units), constant, symmetric)


def _of_product(name: str, weight: Tensor) -> _Weight:
    """Assume the more lenient dimension, since it is unknown which one is summed over."""
    scale = weight.square().mean().sqrt().item()
    sizes = sorted(scale * sqrt(each) for each in weight.shape[-2:])
    size = sizes[0] if sizes[0] > 1 else min(sizes[1], 1.0)
    constant = bool(scale) and min(weight.shape[-2:]) > 1 and _is_constant(weight)
    return _Weight(name, size, sizes[0], constant)


def _own_outputs(setup: ModelSetup, name: str) -> bool:
    """Return whether two units of a weight change outputs that have nothing in common."""
    with setup.model_copy() as model:
        weight = model.get_parameter(name)
        before, places = setup.evaluate(setup.batch, model), []
        for unit in (0, 1):
            with torch.no_grad():
                kept = weight[unit].clone()
                weight[unit] += torch.rand_like(kept) + kept.abs()
                places.append(changed(before, setup.evaluate(setup.batch, model)))
                weight[unit] = kept
    one, other = places
    return bool(one.any() and other.any()) and not bool((one & other).any())


def _is_branch(setup: ModelSetup, names: Sequence[str]) -> bool:
    """Return whether the output depends on the input even if these weights are zero."""
    batch = setup.batch
    other = batch.with_input(batch.main, altered(batch.main))
    with setup.model_copy() as model, torch.no_grad():
        fill_zero_weights(model)  # a head that starts at zero would hide the other branches
        for name in names:
            model.get_parameter(name).zero_()
        return difference(*(setup.evaluate(each, model) for each in (batch, other))) > BRANCH


def _is_constant(weight: Tensor) -> bool:
    return bool((weight == weight.flatten()[0]).all())
