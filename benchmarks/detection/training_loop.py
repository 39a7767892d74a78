"""The training loop of nearly all runs, controlled by a plan that can contain a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from math import ceil, cos, inf, nan, pi
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.optim import Optimizer

from benchmarks.detection.case import Watch
from benchmarks.detection.data_sets import TEST, Data, load
from benchmarks.detection.losses import OBJECTIVES, Objective
from benchmarks.detection.model_blocks import Net
from benchmarks.detection.models import build

Batch = tuple[Tensor, Tensor]
OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "nadam": torch.optim.NAdam,
    "adamax": torch.optim.Adamax,
    "radam": torch.optim.RAdam,
}
# The learning rate at a step, as a multiple of the plan's; `done` goes from 0 to 1.
SCHEDULES: dict[str, Callable[[float], float]] = {
    "": lambda _done: 1.0,
    "step": lambda done: 0.3 ** int(done * 3),
    "cosine": lambda done: 0.5 + 0.5 * cos(pi * done),
    "one_cycle": lambda done: done / 0.3 + 0.04 if done < 0.3 else 1.02 - (done - 0.3) / 0.7,
    "warm_up": lambda done: min(1.0, (done + 0.001) / 0.15),
    "warm_up_cosine": lambda done: done / 0.1 + 0.01 if done < 0.1 else 0.5 + 0.5 * cos(pi * done),
    "exponential": lambda done: 0.05**done,
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All settings of a run except its seed.

    The attributes from `inputs` on can inject a fault. `None` changes nothing.

    Attributes:
        data: The name of the data set.
        part: How many training samples are used.
        reconstruct: Whether the inputs are the targets.
        accumulate: Batches whose gradients are summed before an optimizer step.
        module: Whether the loss is a module rather than a function.
        tell: What the watch gets besides the loss: `outputs`, `accuracy`, `epochs`.
        inputs: Changes the inputs, including held-out ones.
        samples: Changes the training samples and their labels.
        batch: Changes the batch of a step.
        surgery: Changes the model before training.
        groups: Chooses the parameters for the optimizer.
        rate: Multiplies the learning rate at a step.
        loss: Changes the loss of a step, given the outputs.
        keep_gradients: Whether zero_grad is forgotten.
        mode: Whether the model is put into training mode.
    """

    data: str
    net: Net = field(default_factory=Net)
    objective: str = "ce"
    optimizer: str = "adam"
    lr: float = 0.003
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    schedule: str = ""
    clip: float = 0.0
    accumulate: int = 1
    steps: int = 200
    size: int = 64
    part: int | None = None
    reconstruct: bool = False
    module: bool = False
    tell: frozenset[str] = frozenset()
    inputs: Callable[[Tensor], Tensor] | None = None
    samples: Callable[[Tensor, Tensor], Batch] | None = None
    batch: Callable[[int, Tensor, Tensor], Batch] | None = None
    surgery: Callable[[nn.Module], object] | None = None
    groups: Callable[[nn.Module, float], list[dict[str, Any]]] | None = None
    rate: Callable[[int], float] | None = None
    loss: Callable[[int, Tensor, Tensor, Tensor], Tensor] | None = None
    keep_gradients: bool = False
    mode: bool = True

    def but(self, **changes: Any) -> Plan:
        """Return this plan with other settings, including those of the net."""
        net = {each.name for each in fields(Net)}
        inner = {name: value for name, value in changes.items() if name in net}
        outer = {name: value for name, value in changes.items() if name not in net}
        return replace(self, net=replace(self.net, **inner), **outer)


def prepare(plan: Plan, half: int, folder: Path | None, test: int = TEST) -> Data:
    """Return the data of a plan, with its changes."""
    return changed(load(plan.data, half, folder, test), plan)


def changed(data: Data, plan: Plan) -> Data:
    """Return data with the changes of a plan."""
    x, y, x_test, y_test = data.x, data.y, data.x_test, data.y_test
    task, size = data.task, data.size
    if plan.part:
        x, y = x[: plan.part], y[: plan.part]
    if plan.inputs:
        x, x_test = plan.inputs(x), plan.inputs(x_test)
    if plan.reconstruct:
        y, y_test, task, size = x.flatten(1), x_test.flatten(1), "values", x[0].numel()
    if plan.samples:
        x, y = plan.samples(x.clone(), y.clone())
    return replace(data, task=task, size=size, x=x, y=y, x_test=x_test, y_test=y_test)


def batches(data: Data, size: int, generator: torch.Generator) -> Iterator[Batch]:
    """Yield full batches forever. Skip the incomplete last batch of an epoch."""
    while True:
        order = torch.randperm(len(data.x), generator=generator)
        for start in range(0, max(len(order) - size, 0) + 1, size):
            chosen = order[start : start + size]
            yield data.x[chosen], data.y[chosen]


def make_optimizer(plan: Plan, model: nn.Module) -> Optimizer:
    held: Any = plan.groups(model, plan.lr) if plan.groups else model.parameters()
    extra: dict[str, Any] = {"weight_decay": plan.weight_decay} if plan.weight_decay else {}
    if plan.momentum:
        extra |= {"momentum": plan.momentum}
    if plan.nesterov:
        extra |= {"nesterov": True}
    return OPTIMIZERS[plan.optimizer](held, lr=plan.lr, **extra)


def scheduler(plan: Plan, optimizer: Optimizer) -> torch.optim.lr_scheduler.LambdaLR:
    def factor(step: int) -> float:
        shape = SCHEDULES[plan.schedule](step / plan.steps)
        return shape * (plan.rate(step) if plan.rate else 1.0)

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def train(plan: Plan, seed: int, folder: Path | None, watch: Watch) -> float:
    """Train by the plan, call the watch, and return the score on held-out samples."""
    torch.manual_seed(seed)
    data, objective = prepare(plan, seed % 2, folder), OBJECTIVES[plan.objective]
    model = build(plan.net, data, objective.width(data))
    if plan.surgery:
        plan.surgery(model)
    optimizer = make_optimizer(plan, model)
    schedule = scheduler(plan, optimizer)
    compare = objective.module() if plan.module else objective.function
    per_epoch = max(1, len(data.x) // plan.size)
    watch.begin(model, optimizer, ceil(plan.steps / per_epoch))
    model.train(plan.mode)
    stream = batches(data, plan.size, torch.Generator().manual_seed(seed))
    hits: list[float] = []
    for step, (x, y) in enumerate(islice(stream, plan.steps)):
        if plan.batch:
            x, y = plan.batch(step, x, y)
        out, target = model(x), objective.target(y, data.size)
        loss = compare(out, target)
        if plan.loss:
            loss = plan.loss(step, loss, out, target)
        if advance(plan, step, model, optimizer, loss):
            schedule.step()
        if "accuracy" in plan.tell and data.task == "classes":
            hits.append(accuracy(objective.guess(out.detach(), data.size), y, 1))
        watch.step(loss, **watch_arguments(plan, out, target, hits))
        if "epochs" in plan.tell and (step + 1) % per_epoch == 0:
            seen = {"accuracy": sum(hits) / len(hits)} if hits else {}
            watch.epoch(**seen, **validate(model, data, objective, compare))
            model.train(plan.mode)
            hits.clear()
    return score(model, data, objective.guess)


def watch_arguments(plan: Plan, out: Tensor, target: Tensor, hits: list[float]) -> dict[str, Any]:
    """Return what the watch gets besides the loss."""
    metrics: dict[str, Any] = {"accuracy": hits[-1]} if hits else {}
    return metrics | ({"outputs": out, "targets": target} if "outputs" in plan.tell else {})


def advance(plan: Plan, step: int, model: nn.Module, optimizer: Optimizer, loss: Tensor) -> bool:
    """Compute gradients and step the optimizer if it is due. Return whether it was."""
    (loss / plan.accumulate).backward()  # type: ignore[no-untyped-call]
    if (step + 1) % plan.accumulate:
        return False
    if plan.clip:
        nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
    optimizer.step()
    if not plan.keep_gradients:
        optimizer.zero_grad()
    return True


def accuracy(guess: Tensor, y: Tensor, size: int) -> float:
    """Return the accuracy, balanced if there are two classes."""
    right = (guess == y).float()
    if size == 2 and 0 < y.sum() < len(y):
        return (right[y == 0].mean() + right[y == 1].mean()).item() / 2
    return right.mean().item()


def validate(model: nn.Module, data: Data, objective: Objective, compare: Any) -> dict[str, float]:
    """Return the loss and accuracy on some held-out samples."""
    model.eval()
    x, y = data.x_test[:200], data.y_test[:200]
    with torch.no_grad():
        out = model(x)
        metrics = {"val_loss": float(compare(out, objective.target(y, data.size)))}
    if data.task == "classes":
        metrics["val_accuracy"] = accuracy(objective.guess(out, data.size), y, 1)
    return metrics


def score(model: nn.Module, data: Data, guess: Callable[[Tensor, int], Tensor]) -> float:
    """Score a model on held-out samples: 1 is perfect, NaN means broken outputs."""
    model.eval()
    with torch.no_grad():
        out = model(data.x_test)
    if not out.isfinite().all():
        return nan
    if data.task == "next":
        return gained(F.cross_entropy(out, data.y_test.flatten()), data)
    guesses = guess(out, data.size)
    if data.task == "classes":
        return accuracy(guesses, data.y_test, data.size)
    if data.task == "labels":
        return (guesses == data.y_test).float().mean().item()
    return clipped(1 - F.mse_loss(guesses, data.y_test).item() / data.y_test.var(0).mean().item())


def gained(loss: Tensor, data: Data) -> float:
    """Return the relative gain of a loss over knowing only the frequency of each token."""
    shares = torch.bincount(data.y.flatten(), minlength=data.size) / data.y.numel()
    return clipped(1 - loss.item() / float(-(shares * shares.clamp(min=1e-9).log()).sum()))


def clipped(value: float) -> float:
    return min(max(value, -1.0), 1.0) if -inf < value < inf else nan
