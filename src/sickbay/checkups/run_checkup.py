"""`checkup`: examine a model before its first training step."""

import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from inspect import isabstract
from math import inf
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from sickbay import arguments
from sickbay.arguments import bad_argument
from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.model_losses import Loss
from sickbay.checkups.model_setup import ModelSetup
from sickbay.checkups.restore_model import default_modes
from sickbay.checkups.shared_state import safe_loss
from sickbay.checkups.statements import known_statements
from sickbay.checkups.wording import counted, raised
from sickbay.console import Progress, Screen
from sickbay.errors import UsageError
from sickbay.isolated_random import IsolatedRandom, loader_generators
from sickbay.model_arguments import check_model, check_optimizer
from sickbay.reports.checkup_report import Report, Result
from sickbay.tasks import TASKS, Task
from sickbay.user_code import defined_at, exits_explained

Test = str | Statement | type[Statement]
LATE = "the time was up"
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
    seconds: float | None = None,
    progress: bool = True,
    seed: int = 0,
) -> Report:
    """Examine a model before its first training step.

    The model, its gradients, modes and buffers, the optimizer, the data and all random states are
    the same afterwards.

    Args:
        model: The model.
        batch: Inputs, (inputs, targets) or a DataLoader. Inputs are a tensor, a tuple of arguments
            or a dict of keyword arguments. By default, random inputs that fit the first layers.
        loss: A function of outputs and targets. By default the model's own loss (`output.loss`), or
            the usual one of the task.
        optimizer: The optimizer that will train the model. It is only inspected.
        task: "binary", "multiclass", "multilabel", "regression" or "next_token". By default
            inferred from the targets.
        tests: Names of tests, or your own subclasses or instances of `Statement`. "default" stands
            for all but the optional tests, "all" for all of them.
        validation: A validation batch, which should share no sample with `batch`.
        seconds: The time after which no further test starts. Critical tests then come first. By
            default all tests run.
        progress: Whether to show a progress bar on a terminal.
        seed: The seed of random inputs.

    Returns:
        The results, in the order of the tests. `print(report)` shows them.

    Example:
        >>> import torch
        >>> _ = torch.manual_seed(0)
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(-1))
        >>> data = torch.randn(32, 4), torch.arange(32) % 3
        >>> report = checkup(model, data, nn.CrossEntropyLoss())
        >>> [result.test for result in report.failed]
        ['output_fits_the_loss']
    """
    check_model(model, lazy=False)
    _check_loss(loss)
    if optimizer is not None:
        check_optimizer(optimizer, rule="a torch.optim.Optimizer or None")
    if task is not None:
        arguments.check_choice("task", task, filter(None, TASKS))
    arguments.check_bool("progress", progress)
    end = inf if seconds is None else arguments.check_float("seconds", seconds, above=0)
    end += perf_counter()
    seed, statements = arguments.check_seed(seed), choose(tests)
    dtypes = (each.dtype for each in model.parameters() if each.is_floating_point())
    dtype = next(dtypes, torch.float32)
    loaders = [each for each in (batch, validation) if isinstance(each, DataLoader)]
    generators = set[torch.Generator]().union(*map(loader_generators, loaders))
    with (
        IsolatedRandom(seed, *generators),
        default_modes(model),
        exits_explained(),
        ExitStack() as restoring,
    ):
        setup = ModelSetup(
            model,
            None if batch is None else Batch.of(batch, dtype),
            safe_loss(loss, model, restoring),
            optimizer,
            task or "",
            None if validation is None else Batch.of(validation, dtype),
        )
        with setup.restoring:
            results = _examine_all(setup, statements, progress, end)
    file, line = defined_at(type(setup.model))
    return Report(results, type(setup.model).__name__, _untested(setup, results), file, line)


def choose(tests: Tests) -> list[Statement]:
    """Return the statements that `tests` stands for, each name once."""
    if tests is None:
        tests = "default"
    listed = [tests] if isinstance(tests, str | Statement | type) else tests
    if not isinstance(listed, Sequence | Set | Iterator):
        raise bad_argument("tests", "names of tests or tests themselves", listed)
    chosen = [statement for test in listed for statement in _statements(test)]
    if not chosen:
        raise UsageError("tests must name at least one test, got none; omit it for the default.")
    return list({statement.name(): statement for statement in chosen}.values())


def _statements(test: object) -> list[Statement]:
    """Return the statements that one item of `tests` stands for."""
    if isinstance(test, Statement):
        return [test]
    if isinstance(test, type) and issubclass(test, Statement) and not isabstract(test):
        return [test()]
    known = known_statements()
    name = arguments.check_choice("test", test, [*known, "default", "all"])
    if name in known:
        return [known[name]()]
    return [kind() for kind in known.values() if name == "all" or not kind.optional]


def _examine_all(
    setup: ModelSetup, statements: Sequence[Statement], progress: bool, end: float
) -> list[Result]:
    """Return the result of each test, with a progress bar on a terminal.

    If there is an end, the critical tests run first, since others may have to be left out.
    """
    results: dict[str, Result] = {}
    console = Screen(stderr=True)
    hidden = not (progress and console.is_terminal)
    with Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("checkup", total=len(statements))
        for statement in sorted(
            statements, key=lambda each: end < inf and each.severity != "critical"
        ):
            name = statement.name()
            bar.update(task, description=name.replace("_", " "))
            late = perf_counter() > end
            results[name] = statement.skipped(LATE) if late else _examine(statement, setup)
            bar.advance(task)
    return [results[statement.name()] for statement in statements]


def _examine(statement: Statement, setup: ModelSetup) -> Result:
    """Return the result of a test; one that crashes accuses nobody, and says why."""
    start = perf_counter()
    try:
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            result = statement.examine(setup)
    except Inapplicable as reason:
        result = statement.skipped(str(reason))
    except (MemoryError, torch.cuda.OutOfMemoryError):
        result = statement.skipped("there is not enough memory for it")
    except Exception as error:
        result = replace(statement.skipped(raised(error)), crashed=True)
    return replace(result, seconds=perf_counter() - start)


def _check_loss(loss: object) -> None:
    """Raise `UsageError` unless `loss` is a function or None."""
    rule = "a function of outputs and targets, or None"
    if isinstance(loss, type):
        raise UsageError(f"loss must be {rule}, got the class {loss.__name__}; pass an instance.")
    if loss is not None and not callable(loss):
        raise bad_argument("loss", rule, loss)


def _untested(setup: ModelSetup, results: Iterable[Result]) -> tuple[str, ...]:
    """Return what could not be tested because something was not given, or there was no time."""
    notes = []
    if late := sum(result.message == LATE for result in results):
        notes.append(f"{counted(late, 'test')} did not run: {LATE}")
    if setup.copy_failure:
        notes.append(f"the model itself was run, and restored afterwards. {setup.copy_failure}")
    if setup.reading:
        notes.append(setup.reading)
    if setup.synthetic_from:
        source = setup.synthetic_from
        notes.append(f"the inputs were generated for {source}: the data is not tested")
    if not setup.knows_its_loss:
        notes.append("the loss is not tested without targets")
    if not setup.has_optimizer:
        notes.append("the optimizer is not tested: none was given")
    return tuple(notes)
