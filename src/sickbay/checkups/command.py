"""`sickbay checkup`: examine what a function makes, and leave with an exit code."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import re
import sys
from contextlib import redirect_stdout
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.examination import checkup
from sickbay.checkups.report import Report
from sickbay.checkups.statements import EVERY
from sickbay.checkups.writing import written
from sickbay.errors import UsageError, unknown
from sickbay.problems.profiles import EVERY as PROBLEMS
from sickbay.reports.examined import show
from sickbay.screen import Console, Table

PARTS = ("model", "batch", "loss", "optimizer", "task", "validation")
SHAPE = re.compile(r"(\d+(?:x\d+)*)(?::(\d+))?")


def run(options: argparse.Namespace) -> int:
    """Examine a model and print the report; return 1 if a test failed that must not."""
    if options.list:
        Console().print(listed())
        return 0
    if options.factory is None:
        raise UsageError("A checkup needs what makes the model, as package.module:function.")
    with redirect_stdout(sys.stderr):  # what the model prints would spoil JSON
        made = make(options)
        tests = options.tests.split(",") if options.tests else None
        report = checkup(**made, tests=tests, progress=not options.quiet)
    if not report.file:
        file, line = written(named(options.factory))
        report = replace(report, file=file, line=line)
    print_out(report, options)
    return int(options.fail_on != "never" and report.fails(options.fail_on))


def make(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is examined: what the factory makes, and what the options add to it."""
    made = called(options.factory)
    if isinstance(made, nn.Module):
        made = {"model": made}
    if not isinstance(made, dict) or not isinstance(made.get("model"), nn.Module):
        given = sorted(made) if isinstance(made, dict) else type(made).__name__
        raise UsageError(
            f"{options.factory} must return a model, or a dict with 'model' and any of "
            f"{', '.join(PARTS[1:])}; got {given}."
        )
    for name in made:
        if name not in PARTS:
            raise unknown("part of a checkup", name, PARTS)
    if options.batch:
        made["batch"] = batch_of(options.batch)
    if options.loss:
        made["loss"] = called(options.loss) if _is_class(options.loss) else named(options.loss)
    return made | ({"task": options.task} if options.task else {})


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
        raise unknown("problem or test", name, [*PROBLEMS, *known])
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
        return called(text)
    shape = tuple(map(int, match[1].split("x")))
    generator = torch.Generator().manual_seed(0)
    made: Tensor
    if match[2]:
        made = torch.randint(int(match[2]), shape, generator=generator)
    else:
        made = torch.randn(shape, generator=generator)
    return made


def called(name: str) -> Any:
    """Return what a named function returns, or the named thing itself if it is none."""
    found = named(name)
    if not callable(found) or isinstance(found, nn.Module):
        return found
    try:
        return found()
    except Exception as error:
        raise UsageError(f"{name} raised {type(error).__name__}: {error}") from error


def named(name: str) -> Any:
    """Return what is called `package.module:name`."""
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise UsageError(f"A function is named as package.module:function, got {name!r}.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise UsageError(f"There is no module {error.name!r} here ({os.getcwd()}).") from None
    for part in path.split("."):
        if not hasattr(found, part):
            raise unknown(
                f"name in {module}", part, (each for each in dir(found) if each[0] != "_")
            )
        found = getattr(found, part)
    return found


def _is_class(name: str) -> bool:
    return isinstance(named(name), type)
