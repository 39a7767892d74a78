"""Examining a model before its first step."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from inspect import isabstract
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from sickbay import arguments
from sickbay.arguments import bad_argument
from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case, Loss
from sickbay.checkups.report import Report, Result
from sickbay.checkups.restore_model import as_usual, copied
from sickbay.checkups.source_location import written
from sickbay.checkups.statements import EVERY
from sickbay.console import Progress, Screen
from sickbay.errors import UsageError
from sickbay.isolated_random import IsolatedRandom, loader_generators
from sickbay.model_arguments import check_model, check_optimizer
from sickbay.printable import error_message
from sickbay.tasks import TASKS, Task

Test = str | Statement | type[Statement]
Tests = Test | Iterable[Test] | None


def checkup(
    model: nn.Module,
    batch: Any = None,
    loss: Loss | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    task: Task | None = None,
    tests: Tests = None,
    validation: Any = None,
    progress: bool = True,
    seed: int = 0,
) -> Report:
    """Examine a model before its first step.

    The model, its gradients, modes and buffers, the optimizer, the data and all random states are
    afterwards what they were before.

    Args:
        model: The model.
        batch: Inputs, (inputs, targets) or a DataLoader. Inputs are a tensor, a tuple of arguments
            or a dict of arguments by name. Without it, inputs are made up from the first layers.
        loss: What is called with outputs and targets. Without it, the model's own (`output.loss`),
            or the usual one of the task.
        optimizer: What will train the model; only looked at.
        task: "binary", "multiclass", "multilabel", "regression" or "next_token", if it cannot
            be told from the targets.
        tests: Names of tests or tests themselves; "all" for the optional ones too. By default all
            but those.
        validation: A batch to validate on, which should share no sample with `batch`.
        progress: Whether to show a bar on a terminal.
        seed: What random inputs are drawn from.

    Returns:
        The results, in the order of the tests. `print(report)` shows them.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(-1))
        >>> data = torch.randn(32, 4), torch.arange(32) % 3
        >>> report = checkup(model, data, nn.CrossEntropyLoss())
        >>> [result.test for result in report.failed]
        ['output_fits_the_loss']
    """
    check_model(model, lazy=False)
    check_loss(loss)
    if optimizer is not None:
        check_optimizer(optimizer, rule="a torch.optim.Optimizer or None")
    if task is not None:
        arguments.check_choice("task", task, filter(None, TASKS))
    arguments.check_bool("progress", progress)
    seed, chosen = arguments.check_seed(seed), choose(tests)
    dtype = next((each.dtype for each in model.parameters() if each.is_floating_point()), None)
    loaders = [each for each in (batch, validation) if isinstance(each, DataLoader)]
    own = set[torch.Generator]().union(*map(loader_generators, loaders))
    with IsolatedRandom(seed, *own), as_usual(model):
        case = Case(
            model,
            None if batch is None else Batch.of(batch, dtype or torch.float32),
            copied(loss),
            optimizer,
            task or "",
            None if validation is None else Batch.of(validation, dtype or torch.float32),
        )
        results = list(examined(case, chosen, progress))
    file, line = written(type(case.model))
    return Report(results, type(case.model).__name__, untested(case), file, line)


def choose(tests: Tests) -> list[Statement]:
    """Return the tests that are asked for."""
    if tests is None:
        return [each() for each in EVERY if not each.optional]
    listed = [tests] if isinstance(tests, str | Statement | type) else tests
    if not isinstance(listed, Sequence | Set | Iterator):
        raise arguments.bad_argument("tests", "names of tests or tests themselves", listed)
    chosen = [test for each in listed for test in _chosen(each)]
    if not chosen:
        raise UsageError("tests must name at least one test, got none; leave it out for the usual.")
    return list({each.name(): each for each in chosen}.values())  # one named twice runs once


def _chosen(test: object) -> list[Statement]:
    """Return the tests that one name stands for."""
    if isinstance(test, Statement):
        return [test]
    if isinstance(test, type) and issubclass(test, Statement) and not isabstract(test):
        return [test()]
    known = {each.name(): each for each in EVERY}
    name = arguments.check_choice("test", test, [*known, "all"])
    return [kind() for kind in EVERY] if name == "all" else [known[name]()]


def examined(case: Case, tests: Sequence[Statement], progress: bool) -> Iterable[Result]:
    """Yield the result of each test; show on a terminal how far it is."""
    console = Screen(stderr=True)
    shown = progress and console.is_terminal
    with Progress(console=console, transient=True, disable=not shown) as bar:
        running = bar.add_task("checkup", total=len(tests))
        for test in tests:
            bar.update(running, description=test.name().replace("_", " "))
            yield result_of(test, case)
            bar.advance(running)


def result_of(test: Statement, case: Case) -> Result:
    """Return the result of a test; one that raises has failed."""
    start = perf_counter()
    try:
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            result = test.examine(case)
    except Inapplicable as why:
        result = test.skipped(str(why))
    except (MemoryError, torch.cuda.OutOfMemoryError):
        result = test.skipped("there is too little memory for it")
    except Exception as error:
        kind, last = type(error).__name__, error_message(error).rstrip(".")
        result = test.fails(f"it raised {kind}" + (f": {last}" if last != kind else ""))
    return replace(result, seconds=perf_counter() - start)


def check_loss(loss: object) -> None:
    """Say so if this is no loss."""
    possible = "a function of outputs and targets, or None"
    if isinstance(loss, type):
        raise UsageError(f"loss must be {possible}, got the class {loss.__name__}: make one of it.")
    if loss is not None and not callable(loss):
        raise bad_argument("loss", possible, loss)


def untested(case: Case) -> tuple[str, ...]:
    """Say what could not be examined for lack of something."""
    notes = []
    if case.uncopied:
        notes.append(f"the model itself was run, and put back afterwards. {case.uncopied}")
    if case.made_up:
        notes.append(f"the inputs were made up from {case.made_up}: nothing is said about the data")
    if not case.has_targets:
        notes.append("without targets nothing is said about the loss")
    if not case.has_optimizer:
        notes.append("without an optimizer nothing is said about it")
    return tuple(notes)
