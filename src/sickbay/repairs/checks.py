"""What `fit` may be given: one clear sentence for everything else, before anything is trained."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import isnan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from sickbay.doctor.checks import check_model, check_optimizers
from sickbay.errors import UsageError
from sickbay.recipe import Loss
from sickbay.vitals.losses import NAMES

if TYPE_CHECKING:
    from sickbay.repairs.data import Data

FEW = 7  # samples that are tried
KINDS = "a pair (x, y), a torch Dataset of such pairs or a DataLoader"
FUNCTIONS = {
    "cross_entropy": "cross_entropy",
    "nll_loss": "nll",
    "binary_cross_entropy": "bce",
    "binary_cross_entropy_with_logits": "bce_logits",
    "mse_loss": "mse",
}


def check_numbers(*, epochs: object, batch_size: object, budget: object, target: object) -> None:
    """Say so if one of these is no number that can be used."""
    check_count("epochs", epochs)
    check_count("batch_size", batch_size)
    check_budget(budget)
    check_target(target)


def check_count(name: str, value: object) -> None:
    """Say so if this is not a number of things, such as epochs or samples in a batch."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise UsageError(f"{name} must be a whole number from 1 on, got {value!r}.")


def check_budget(budget: object) -> None:
    """Say so if nothing can be spent; None is no limit."""
    if not is_number(budget):
        raise UsageError(f"budget must be a number or None, got {budget!r}.")
    if budget is not None and not budget > 0:
        raise UsageError(f"budget must be above 0, got {budget!r}.")


def check_target(target: object) -> None:
    """Say so if this is no score to reach; None is no score."""
    if not is_number(target) or (target is not None and isnan(target)):
        raise UsageError(f"target must be a number or None, got {target!r}.")


def is_number(value: object) -> TypeGuard[float | None]:
    """Tell whether this is a number or None."""
    return value is None or (isinstance(value, Real) and not isinstance(value, bool))


def check_device(device: Any) -> torch.device | None:
    """Return the device, or say why torch cannot compute there."""
    if device is None:
        return None
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()
    except Exception as error:  # a device that is not there raises whatever its driver likes
        raise UsageError(
            f"device must be one that torch can use here, got {device!r}: {said(error)}"
        ) from error
    return found


def pair(name: str, x: Any, y: Any, dtype: torch.dtype) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return samples and labels as tensors, or say why they are none."""
    for what, value in (("samples", x), ("labels", y)):
        if value is None:
            raise UsageError(f"{name} must have {what}, got None; possible: {KINDS}.")
    several = isinstance(x, tuple) and all(isinstance(each, Tensor | np.ndarray) for each in x)
    inputs = tuple(_tensor(name, each, dtype) for each in (x if several else (x,)))
    targets = _tensor(name, y, dtype)
    return inputs, targets if targets.is_floating_point() else targets.long()


def batch(name: str, raw: Any, dtype: torch.dtype) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return what a DataLoader has made as inputs and targets; the targets are the last."""
    if not isinstance(raw, tuple | list) or len(raw) < 2:
        count = f" of {len(raw)}" if isinstance(raw, tuple | list) else ""
        raise UsageError(f"{name} must give pairs (x, y), got a {type(raw).__name__}{count}.")
    *inputs, targets = raw
    nested = len(inputs) == 1 and isinstance(inputs[0], tuple | list)
    return pair(name, tuple(inputs[0]) if nested else tuple(inputs), targets, dtype)


def check_rows(name: str, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Say so if there is nothing to learn from, or samples and labels do not go together."""
    if not all(each.ndim for each in (*inputs, targets)):
        raise UsageError(f"{name} must have a row for every sample, got a single number.")
    lengths = [len(each) for each in inputs]
    if len(set(lengths)) > 1:
        given = " and ".join(map(str, lengths))
        raise UsageError(f"{name} must have inputs of the same length, got {given} samples.")
    if lengths[0] != len(targets):
        raise UsageError(
            f"{name} must have as many labels as samples, "
            f"got {lengths[0]} samples and {len(targets)} labels."
        )
    if not lengths[0]:
        raise UsageError(f"{name} must have at least one sample, got none.")


def check_finite(name: str, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Say so if no value of the samples, or of the labels, is a number."""
    for what, tensors in (("values", inputs), ("labels", (targets,))):
        if not any(each.isfinite().any() for each in tensors):
            raise UsageError(
                f"{name} must have finite {what}, got nothing but NaN and Inf "
                f"in {len(targets)} samples."
            )


def check_optimizer(optimizer: object, model: nn.Module) -> None:
    """Say so if this is not an optimizer of the model."""
    if not isinstance(optimizer, Optimizer):
        raise UsageError(
            f"optimizer must be a torch.optim.Optimizer, got {type(optimizer).__name__}."
        )
    if not any(group["params"] for group in optimizer.param_groups):
        given = f"{type(optimizer).__name__} with none"
        raise UsageError(f"optimizer must hold parameters of the model, got {given}.")
    check_optimizers(optimizer, model)


def check_fit(model: nn.Module, data: Data, loss: Loss, optimizer: Optimizer) -> None:
    """Say so if these cannot train at all; what can, however badly, passes. Nothing is changed."""
    check_model(model)
    check_optimizer(optimizer, model)
    if not callable(loss):
        raise UsageError(f"loss must be a function of outputs and labels, got {loss!r}.")
    copied = _copied("model", model, data)
    tried = _copied("loss", loss, data) if isinstance(loss, nn.Module) else loss
    for name, inputs, targets, known in data.trials(FEW):
        with undisturbed(copied):
            outputs = _outputs(name, copied, inputs)
            _check_classes(loss, outputs, known)
            _check_loss(tried, outputs, targets)


def loss_name(loss: object) -> str:
    """Return what a loss is called in `losses.NAMES`, "" for one that is not known.

    >>> loss_name(nn.CrossEntropyLoss()), loss_name(nn.functional.nll_loss), loss_name(print)
    ('cross_entropy', 'nll', '')
    """
    name = getattr(loss.func if isinstance(loss, partial) else loss, "__name__", "")
    return NAMES.get(type(loss).__name__) or FUNCTIONS.get(name, "")


class Chance:
    """Random numbers of its own: what is drawn inside is the same for a seed, and moves no others.

    >>> with Chance(1):
    ...     first = torch.rand(3), np.random.rand(), random.random()
    >>> with Chance(1):
    ...     first[0].equal(torch.rand(3)), first[1:] == (np.random.rand(), random.random())
    (True, True)
    """

    def __init__(self, seed: int, *generators: Generator) -> None:
        self._generators = (torch.default_generator, *generators)
        states = [Generator(each.device).manual_seed(seed).get_state() for each in self._generators]
        numbers = np.random.RandomState(seed % 2**32).get_state()
        self._kept: Any = states, numbers, random.Random(seed).getstate()

    def __enter__(self) -> None:
        (states, numbers, plain), own = self._kept, self._generators
        self._kept = [each.get_state() for each in own], np.random.get_state(), random.getstate()
        for generator, state in zip(own, states, strict=True):
            generator.set_state(state)
        np.random.set_state(numbers)
        random.setstate(plain)

    def __exit__(self, *_: object) -> None:
        self.__enter__()


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluate a model: no gradients, and modes and random numbers as they were in the end."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad(), Chance(0), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Using a target size")  # there is a problem for it
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training


def said(error: BaseException) -> str:
    """Return the last line of what an error says, as the end of a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().rstrip(".") + "."


def _tensor(name: str, value: Any, dtype: torch.dtype) -> Tensor:
    if isinstance(value, Tensor):
        found = value.detach()
    else:
        try:
            found = torch.from_numpy(np.require(np.asarray(value), requirements=["C", "W"]))
        except (TypeError, ValueError, RuntimeError) as error:
            given = f"a {type(value).__name__}: {said(error)}"
            raise UsageError(
                f"{name} must be numbers in rows of one length, got {given}"
            ) from error
    return found.to(dtype) if found.dtype == torch.float64 else found


def _copied(what: str, module: nn.Module, data: Data) -> nn.Module:
    try:
        return copy.deepcopy(module).to(data.device)
    except Exception as error:
        given = f"{type(module).__name__}: {said(error)}"
        raise UsageError(f"{what} must be one that can be copied, got {given}") from error


def _outputs(name: str, model: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
    try:
        return model(*inputs)
    except Exception as error:
        given = f"{type(model).__name__} on {_shapes(inputs)}: {said(error)}"
        raise UsageError(f"model must take the inputs of {name}, got {given}") from error


def _check_classes(loss: Loss, outputs: Any, targets: Tensor) -> None:
    if loss_name(loss) not in ("cross_entropy", "nll") or targets.is_floating_point():
        return
    if not isinstance(outputs, Tensor) or targets.ndim != outputs.ndim - 1 or outputs.ndim < 2:
        return
    keywords = loss.keywords if isinstance(loss, partial) else vars(loss)
    ignored, classes = keywords.get("ignore_index", -100), outputs.shape[1]
    wrong = targets[(targets != ignored) & ((targets < 0) | (targets >= classes))]
    if len(wrong):
        raise UsageError(
            f"labels must be from 0 to {classes - 1} for a model of {classes} outputs, "
            f"got {int(wrong[0])}."
        )


def _check_loss(loss: Loss, outputs: Any, targets: Tensor) -> None:
    leaf = isinstance(outputs, Tensor) and outputs.is_floating_point()
    if leaf and outputs.ndim > 1 and len(outputs) == outputs.shape[1]:  # would fit by accident
        outputs, targets = (torch.cat([each, each[:1]]) for each in (outputs, targets))
    try:
        with torch.enable_grad():
            outputs = outputs.detach().requires_grad_() if leaf else outputs
            value = loss(outputs, targets)
            one = isinstance(value, Tensor) and value.numel() == 1
            if leaf and one and value.requires_grad:
                torch.autograd.grad(value, outputs, allow_unused=True)
    except Exception as error:
        name = getattr(loss, "__name__", type(loss).__name__)
        given = f"{name} on outputs {_shapes(outputs)} and labels {_shapes(targets)}"
        raise UsageError(f"loss must fit the model and data, got {given}: {said(error)}") from error
    if not one:
        kind = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else value
        kind = kind if isinstance(kind, str) else f"a {type(value).__name__}"
        raise UsageError(f"loss must return one number, a tensor, got {kind}.")


def _shapes(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(_shapes(each) for each in value)
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    return type(value).__name__
