"""`sickbay checkup`: examine the model that a function returns, and set the exit code."""

import argparse
import inspect
import json
import re
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from math import prod
from typing import Any

import torch
from torch import nn

from sickbay.arguments import check_choice, check_int, short_repr
from sickbay.checkups.run_checkup import checkup
from sickbay.checkups.statements import group_of, known_statements
from sickbay.console import Console, Table
from sickbay.errors import UsageError, unknown_name
from sickbay.problems.by_name import EVERY as PROBLEMS
from sickbay.remedies.by_problem import installed as installed_remedies
from sickbay.reports.checkup_text import show
from sickbay.thresholds import settings
from sickbay.user_code import call, defined_at, load

PARTS = ("model", "batch", "loss", "optimizer", "task", "validation")
SHAPE = re.compile(r"([0-9]{1,12}(?:x[0-9]{1,12})*)(?::([0-9]{1,18}))?")
BATCHES = "a shape such as 8x3x32x32, or 8x128:65 for tokens, or a package.module:function"
MOST_VALUES, MOST_DIMENSIONS = 1 << 28, 16  # of a random batch: a GiB


def run(options: argparse.Namespace) -> int:
    """Examine a model and print the report; return 1 if a test failed that must not."""
    if options.list:
        Console().print(listed())
        return 0
    if not options.factory:
        message = "A checkup needs a function that returns the model: package.module:function."
        raise UsageError(message)
    with redirect_stdout(sys.stderr):  # output of the user's code would spoil JSON
        parts = _parts(options)
        tests = None if options.tests is None else options.tests.split(",")
        report = checkup(**parts, tests=tests, seconds=options.seconds, progress=not options.quiet)
    if not report.file:
        file, line = defined_at(load(options.factory))
        report = replace(report, file=file, line=line)
    fail_on = None if options.fail_on == "never" else options.fail_on
    if options.junit:
        print(report.as_junit(fail_on))
    elif options.json or options.sarif:
        print(json.dumps(report.as_sarif() if options.sarif else report.as_json(), indent=2))
    else:
        show(report, Console())
    return int(fail_on is not None and report.fails(fail_on))


def listed() -> Table:
    """Return all tests as a table, by group."""
    table = Table(box=None, pad_edge=False)
    table.add_column("test", no_wrap=True)
    table.add_column("what should hold")
    table.add_column("if it does not")
    group = ""
    for name, kind in known_statements().items():
        if group_of(kind) != group:
            group = group_of(kind)
            table.add_row(f"[bold]{group}[/]")
        optional = " (only on request)" if kind.optional else ""
        table.add_row(f"  {name}", kind.statement(), kind.severity + optional)
    return table


def explained(name: str) -> str:
    """Return the documentation of a test with its limits."""
    known = known_statements()
    if name not in known:
        raise unknown_name(
            "problem, remedy or test", name, [*PROBLEMS, *installed_remedies(), *known]
        )
    kind = known[name]
    text = f"{name} ({kind.severity})\n\n{inspect.getdoc(kind)}"
    if kind.remedy:
        text += f"\n\nWhat to try:\n    {kind.remedy}"
    rows = [
        "  ".join(filter(None, ("  ", each.name, each.metadata.get("doc"), str(each.default))))
        for each in settings(kind)
    ]
    return text + ("\n\nLimits:\n" + "\n".join(rows) if rows else "")


def batch_of(text: str) -> Any:
    """Return the batch of a named function, or random inputs of a shape.

    >>> batch_of("8x3x32x32").shape, batch_of("4x16:65").dtype
    (torch.Size([8, 3, 32, 32]), torch.int64)
    """
    match = SHAPE.fullmatch(text)
    if match is None:
        if ":" not in text or not text[0].isidentifier():
            raise UsageError(f"--batch must be {BATCHES}, got {text!r}.")
        return call(text)
    shape = tuple(map(int, match[1].split("x")))
    if not 0 < prod(shape) <= MOST_VALUES or len(shape) > MOST_DIMENSIONS:
        rule = f"1 to {MOST_VALUES:,} numbers in at most {MOST_DIMENSIONS} dimensions"
        raise UsageError(f"--batch must have {rule}, got {text!r}.")
    generator = torch.Generator().manual_seed(0)
    if not match[2]:
        return torch.randn(shape, generator=generator)
    tokens = check_int(f"The number of tokens in --batch {text!r}", int(match[2]), least=1)
    return torch.randint(tokens, shape, generator=generator)


def _parts(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `checkup`: what the factory returns, and what the options add."""
    given = call(options.factory)
    returned = {"model": given} if isinstance(given, nn.Module) else given
    if not isinstance(returned, dict) or not isinstance(returned.get("model"), nn.Module):
        is_dict = isinstance(returned, dict)
        got = short_repr(list(returned)) if is_dict else type(returned).__name__
        raise UsageError(
            f"{options.factory} must return a model, or a dict with 'model' and any of "
            f"{', '.join(PARTS[1:])}; got {got}."
        )
    parts = {
        check_choice("part of a checkup", name, PARTS): value for name, value in returned.items()
    }
    if options.batch is not None:
        parts["batch"] = batch_of(options.batch)
    if options.loss is not None:
        loss = load(options.loss)
        parts["loss"] = call(options.loss) if isinstance(loss, type) else loss
    if options.task is not None:
        parts["task"] = options.task
    return parts
