"""Check that a model, loss and optimizer can train on some data, before anything is trained."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.arguments import bad_argument
from sickbay.errors import UsageError
from sickbay.isolated_random import evaluating
from sickbay.loss_probe import harmless
from sickbay.printable import raising
from sickbay.probe.loss_modules import loss_name
from sickbay.recipe import Loss
from sickbay.repairs.batch_sources import Rows
from sickbay.repairs.class_weighting import weighs_classes
from sickbay.repairs.data import Data
from sickbay.repairs.metrics import BALANCED, Metric, default_metric
from sickbay.repairs.scoring import evaluate

FEW = 7  # samples to try
SOME = 256  # samples among which rare classes are looked for


def check_loss(loss: object) -> None:
    """Raise `UsageError` unless `loss` is a loss, and not merely its class."""
    if isinstance(loss, type):
        raise UsageError(
            f"loss must be a module or a function of outputs and labels, got the class "
            f"{loss.__name__}; an object of it is {loss.__name__}()."
        )
    if not callable(loss):
        raise bad_argument("loss", "a module or a function of outputs and labels", loss)


def make_optimizer(factory: Callable[..., Optimizer], model: nn.Module) -> Optimizer:
    """Call a function that makes an optimizer. Raise `UsageError` if it does not."""
    if not callable(factory):
        given = type(factory).__name__
        raise UsageError(f"optimizer must be an optimizer, or a function making one, got {given}.")
    with raising(UsageError, "optimizer must make an optimizer from parameters, but raised"):
        optimizer = factory(model.parameters())
    if not isinstance(optimizer, Optimizer):
        given = type(optimizer).__name__
        raise UsageError(f"optimizer must return a torch.optim.Optimizer, got {given}.")
    return optimizer


def hooks_of(optimizer: Optimizer) -> int:
    """Count the hooks that a user has put on the steps of an optimizer. Its copies lack them.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    >>> _ = optimizer.register_step_pre_hook(print)
    >>> hooks_of(optimizer)
    1
    """
    kept = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
    hooks = [each for name in kept for each in getattr(optimizer, name, {}).values()]
    return sum(not str(getattr(each, "__module__", "")).startswith("sickbay.") for each in hooks)


def check_fit(
    model: nn.Module,
    data: Data,
    loss: Loss,
    target: float | None = None,
    metric: Metric | None = None,
) -> None:
    """Raise `UsageError` if these do not fit together. Nothing is changed."""
    copied = _copied("model", model, data)
    tried = _copied("loss", loss, data)
    for name, inputs, targets, known in data.trials(FEW):
        given = f"{type(model).__name__} on {_shapes(inputs)}"
        with evaluating(copied):
            with raising(UsageError, f"model must take the inputs of {name}, got {given}"):
                outputs = copied(*inputs)
                if _is_square(outputs):  # the shapes could match by accident
                    outputs, targets = copied(*(each[1:] for each in inputs)), targets[1:]
            _check_classes(loss, outputs, known)
            _check_loss(tried, outputs, targets)
        if target is not None and target > 1:
            few = replace(data, validation=Rows(inputs, targets))
            _check_reachable(target, evaluate(copied, tried, few), metric)
    if metric is not None:
        _try_metric(metric, copied, tried, data)


def _try_metric(metric: Metric, model: nn.Module, loss: Loss, data: Data) -> None:
    """Evaluate the metric on all held-out samples: on a few, one class may be missing."""
    try:
        evaluate(model, loss, data, metric)
    except UsageError:
        raise
    except Exception:  # from the model, the loss or the data: training will tell
        return


def usual_metric(model: nn.Module, loss: Loss, data: Data) -> Metric | None:
    """Return the metric that the loss asks for, None if that is none or the task lacks it."""
    metric = default_metric(loss)
    try:
        copied, tried = _copied("model", model, data), _copied("loss", loss, data)
        if metric is None and loss_name(loss) == "" and _weighs(copied, tried, data):
            metric = BALANCED
        if metric is not None:
            evaluate(copied, tried, data, metric)
    except Exception:  # whatever it is, `check_fit` tells
        return None
    return metric


def _weighs(model: nn.Module, loss: Loss, data: Data) -> bool:
    """Return whether a loss that is not torch's own weighs classes."""
    inputs, targets = data.some(SOME)
    with evaluating(model):
        outputs = model(*inputs)
    return isinstance(outputs, Tensor) and weighs_classes(loss, outputs, targets)


def _copied(what: str, given: Any, data: Data) -> Any:
    kind = type(given).__name__
    with raising(UsageError, f"{what} must be one that can be copied, got {kind}"):
        copied = harmless(given)
        return copied.to(data.device) if isinstance(copied, nn.Module) else copied


def _check_classes(loss: Loss, outputs: Any, targets: Tensor) -> None:
    if loss_name(loss) not in ("cross_entropy", "nll") or targets.is_floating_point():
        return
    if not isinstance(outputs, Tensor) or targets.ndim != outputs.ndim - 1 or outputs.ndim < 2:
        return
    keywords = loss.keywords if isinstance(loss, partial) else vars(loss)
    ignored, classes = keywords.get("ignore_index", -100), outputs.shape[1]
    bad = targets[(targets != ignored) & ((targets < 0) | (targets >= classes))]
    if len(bad):
        raise UsageError(
            f"labels must be from 0 to {classes - 1} for a model of {classes} outputs, "
            f"got {int(bad[0])}."
        )


def _is_square(outputs: Any) -> bool:
    return isinstance(outputs, Tensor) and outputs.ndim > 1 and len(outputs) == outputs.shape[1]


def _check_loss(loss: Loss, outputs: Any, targets: Tensor) -> None:
    leaf = isinstance(outputs, Tensor) and outputs.is_floating_point()
    name = getattr(loss, "__name__", type(loss).__name__)
    given = f"{name} on outputs {_shapes(outputs)} and labels {_shapes(targets)}"
    with raising(UsageError, f"loss must fit the model and data, got {given}"), torch.enable_grad():
        outputs = outputs.detach().requires_grad_() if leaf else outputs
        value = loss(outputs, targets)
        one = isinstance(value, Tensor) and value.numel() == 1
        if leaf and one and value.requires_grad:
            torch.autograd.grad(value, outputs, allow_unused=True)
    if not one:
        kind = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else value
        kind = kind if isinstance(kind, str) else f"a {type(value).__name__}"
        raise UsageError(f"loss must return one number, a tensor, got {kind}.")


def _check_reachable(
    target: float, scores: Mapping[str, float], metric: Metric | None = None
) -> None:
    if callable(metric) or metric == "loss":
        return
    if metric is not None or "val_accuracy" in scores or "val_score" in scores:
        what = "an accuracy" if "val_accuracy" in scores else "a share of variance"
        what = what if metric is None else f"the metric {metric!r}"
        hint = f"; for {target:g} % give {target / 100:g}" if target <= 100 else ""
        raise UsageError(f"target must be at most 1, as {what} is, got {target:g}{hint}.")


def _shapes(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(_shapes(each) for each in value)
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    return type(value).__name__
