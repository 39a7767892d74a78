"""`sickbay checkup`: examine what a function makes, and leave with an exit code."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from contextlib import redirect_stdout
from dataclasses import fields, replace
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.arguments import check_choice, check_int, short_repr
from sickbay.checkups.import_by_name import called, named
from sickbay.checkups.report import Report
from sickbay.checkups.run_checkup import checkup
from sickbay.checkups.source_location import written
from sickbay.checkups.statements import EVERY
from sickbay.console import Console, Table
from sickbay.errors import UsageError, unknown_name
from sickbay.problems.by_name import EVERY as PROBLEMS
from sickbay.reports.checkup_text import show

PARTS = ("model", "batch", "loss", "optimizer", "task", "validation")
SHAPE = re.compile(r"([0-9]{1,12}(?:x[0-9]{1,12})*)(?::([0-9]{1,18}))?")
BATCHES = "a shape as 8x3x32x32, or 8x128:65 for tokens, or a function as package.module:function"
MOST, DIMENSIONS = 1 << 28, 16  # numbers of a batch that is made up: a GiB


def run(options: argparse.Namespace) -> int:
    """Examine a model and print the report; return 1 if a test failed that must not."""
    if options.list:
        Console().print(listed())
        return 0
    if not options.factory:
        raise UsageError("A checkup needs what makes the model, as package.module:function.")
    with redirect_stdout(sys.stderr):  # what the model prints would spoil JSON
        made = make(options)
        tests = None if options.tests is None else options.tests.split(",")
        report = checkup(**made, tests=tests, progress=not options.quiet)
    if not report.file:
        file, line = written(named(options.factory))
        report = replace(report, file=file, line=line)
    print_out(report, options)
    return int(options.fail_on != "never" and report.fails(options.fail_on))


def make(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is examined: what the factory makes, and what the options add to it."""
    given = called(options.factory)
    made = {"model": given} if isinstance(given, nn.Module) else given
    if not isinstance(made, dict) or not isinstance(made.get("model"), nn.Module):
        got = short_repr(list(made)) if isinstance(made, dict) else type(made).__name__
        raise UsageError(
            f"{options.factory} must return a model, or a dict with 'model' and any of "
            f"{', '.join(PARTS[1:])}; got {got}."
        )
    parts = {check_choice("part of a checkup", name, PARTS): value for name, value in made.items()}
    if options.batch is not None:
        parts["batch"] = batch_of(options.batch)
    if options.loss is not None:
        loss = named(options.loss)
        parts["loss"] = called(options.loss) if isinstance(loss, type) else loss
    return parts | ({} if options.task is None else {"task": options.task})


def print_out(report: Report, options: argparse.Namespace) -> None:
    """Print the report in the form that is asked for."""
    if options.json or options.sarif:
        print(json.dumps(report.as_sarif() if options.sarif else report.as_json(), indent=2))
    else:
        show(report, Console())


def listed() -> Table:
    """Return all tests in a table."""
    table = Table(box=None, pad_edge=False)
    table.add_column("test", no_wrap=True)
    table.add_column("what should hold")
    table.add_column("if it does not")
    for kind in EVERY:
        optional = " (only if asked for)" if kind.optional else ""
        table.add_row(kind.name(), kind.statement(), kind.severity + optional)
    return table


def explained(name: str) -> str:
    """Return all about a test."""
    known = {each.name(): each for each in EVERY}
    if name not in known:
        raise unknown_name("problem or test", name, [*PROBLEMS, *known])
    kind = known[name]
    told = f"{name} ({kind.severity})\n\n{inspect.getdoc(kind)}"
    if kind.remedy:
        told += f"\n\nWhat to try:\n    {kind.remedy}"
    limits = fields(kind)  # type: ignore[arg-type]
    rows = [f"    {each.name}  {each.metadata['doc']}  {each.default}" for each in limits]
    return told + ("\n\nLimits:\n" + "\n".join(rows) if rows else "")


def batch_of(text: str) -> Any:
    """Return a batch that is named, or random inputs of a shape.

    >>> batch_of("8x3x32x32").shape, batch_of("4x16:65").dtype
    (torch.Size([8, 3, 32, 32]), torch.int64)
    """
    match = SHAPE.fullmatch(text)
    if match is None:
        if ":" not in text or not text[0].isidentifier():
            raise UsageError(f"--batch must be {BATCHES}, got {text!r}.")
        return called(text)
    shape = tuple(map(int, match[1].split("x")))
    if not 0 < prod(shape) <= MOST or len(shape) > DIMENSIONS:
        possible = f"1 to {MOST:,} numbers in at most {DIMENSIONS} dimensions"
        raise UsageError(f"--batch must have {possible}, got {text!r}.")
    generator = torch.Generator().manual_seed(0)
    made: Tensor
    if match[2]:
        below = check_int(f"The number of tokens in --batch {text!r}", int(match[2]), least=1)
        made = torch.randint(below, shape, generator=generator)
    else:
        made = torch.randn(shape, generator=generator)
    return made
