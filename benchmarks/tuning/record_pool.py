"""Recording a pool: configurations, each trained to the end."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import torch
from torch import Tensor, nn

import sickbay
from benchmarks.tuning.pool import KINDS
from benchmarks.tuning.search_spaces import SPACES, draw
from benchmarks.tuning.tasks import TASKS, Data, optimizer_of
from sickbay.history import History
from sickbay.problems.trials.never_learnt import FIRST
from sickbay.tuning.recorded_search import Epoch, RecordedTrial
from sickbay.vitals import Table

DECAY = 0.7  # of the learning rate, per epoch


@dataclass(frozen=True)
class Plan:
    """How a pool is recorded."""

    task: str
    folder: Path
    device: str = "cpu"
    epochs: int = 20
    samples: int | None = None  # for training; None: all


def train(plan: Plan, data: Data, seed: int) -> RecordedTrial:
    """Train one configuration to the end, watched by sickbay."""
    task, config = TASKS[plan.task], draw(SPACES[plan.task], seed)
    torch.manual_seed(seed)
    model = task.build(config).to(plan.device)
    optimizer = optimizer_of(config, model)
    steps = -(-len(data.x) // config["batch_size"])
    doctor = sickbay.watch(
        model, optimizer, every=partial(is_read, steps), epochs=plan.epochs, on_finding="silent"
    )
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, DECAY)
    epochs: list[Epoch] = []
    with doctor:
        for _ in range(plan.epochs):
            start = perf_counter()
            for loss in pass_through(model, optimizer, data, config["batch_size"], task.loss):
                doctor.step(loss)
            schedule.step()
            metrics = evaluate(model, data, task.loss)
            seconds = perf_counter() - start
            doctor.epoch(**metrics)
            epochs.append(Epoch(metrics, newest(doctor.history, steps), seconds))
        history = doctor.history
        losses, rates = history.epochs("loss"), history.epochs("lr")
        setup, first = history.setup, history.first("loss", FIRST)
        found = [(each.problem, each.step, each.epoch) for each in doctor.findings]
    epochs = [
        replace(epoch, scalars={"loss": loss, "lr": rate, **epoch.scalars})
        for epoch, loss, rate in zip(epochs, losses, rates, strict=True)
    ]
    about = {"config": config, "seed": seed, "steps": steps, "findings": found}
    return RecordedTrial(f"{plan.task}/{seed}", setup, epochs, about, {"loss": first})


def is_read(steps: int, step: int) -> bool:
    """Return whether to read a step: the last of each epoch, and of each quarter of the first."""
    return (step + 1) % steps == 0 or (step < steps and (step + 1) % max(1, steps // 4) == 0)


def pass_through(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Data,
    size: int,
    loss_of: Callable[[Tensor, Tensor], Tensor],
) -> Iterator[Tensor]:
    """Train for one epoch, and yield the loss of every step."""
    model.train()
    order = torch.randperm(len(data.x), device=data.x.device)
    for some in torch.split(order, size):
        optimizer.zero_grad()
        with lower_precision(data):
            loss = loss_of(model(data.x[some]), data.y[some])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        yield loss


@torch.no_grad()
def evaluate(
    model: nn.Module, data: Data, loss_of: Callable[[Tensor, Tensor], Tensor]
) -> dict[str, float]:
    """Return the validation loss and, for classification, the validation accuracy."""
    model.eval()
    with lower_precision(data):
        outputs = torch.cat([model(some) for some in torch.split(data.x_val, 500)]).float()
    metrics = {"val_loss": loss_of(outputs, data.y_val).item()}
    if not data.y.is_floating_point():
        metrics["val_accuracy"] = (outputs.argmax(1) == data.y_val).float().mean().item()
    return metrics


def lower_precision(data: Data) -> Any:
    """Return the autocast context that speeds up forecasting on a GPU."""
    there = data.x.is_cuda and data.y.is_floating_point()
    return torch.autocast("cuda", torch.bfloat16, enabled=there)


def newest(history: History, steps: int) -> list[Table]:
    """Return the tables of the last epoch that problems read."""
    begin = history.step - steps + 1
    tables = []
    for kind in KINDS:
        for table in history.tables(kind, 8):
            if table.step >= begin:
                rows = history.kernels(table) if kind != "activation" else range(len(table.names))
                names = tuple(table.names[row] for row in rows)
                tables.append(Table(kind, table.step, names, table.values[list(rows)]))
    return sorted(tables, key=lambda table: table.step)


def record(
    plan: Plan, seeds: Sequence[int], workers: int, until: float | None = None
) -> Iterator[RecordedTrial]:
    """Yield trials as they finish. Stop after `until` seconds."""
    end = monotonic() + (until if until is not None else 1e9)
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, _prepare, (plan,)) as pool:
        results = pool.imap_unordered(_train, seeds)
        for _ in seeds:
            try:
                trial = results.next(timeout=max(0.0, end - monotonic()))
            except multiprocessing.TimeoutError:
                return
            if trial is not None:
                yield trial


_at_hand: list[tuple[Plan, Data]] = []


def _prepare(plan: Plan) -> None:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "Using padding='same'")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    data = TASKS[plan.task].load(plan.folder)
    if plan.samples is not None:
        data = replace(data, x=data.x[: plan.samples], y=data.y[: plan.samples])
    _at_hand.append((plan, data.to(plan.device)))


def _train(seed: int) -> RecordedTrial | None:
    plan, data = _at_hand[0]
    try:
        return train(plan, data, seed)
    except torch.cuda.OutOfMemoryError as error:
        print(f"trial {seed} is left out: {error}")
        return None
