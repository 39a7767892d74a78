"""`sickbay fit`: train what a function returns, repair it, and set the exit code."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import torch

from sickbay import safe_files
from sickbay.arguments import check_bool, check_choice, check_path, short_repr
from sickbay.errors import SickbayError, UsageError
from sickbay.printable import one_line
from sickbay.repairs.config import ARGUMENTS, NEEDED, SETTINGS, from_names, read_config
from sickbay.repairs.executor import on_cpu
from sickbay.repairs.fit import fit
from sickbay.repairs.journal import FINGERPRINT, free_folder
from sickbay.repairs.outcome import Outcome
from sickbay.user_code import call

INTERRUPTED = 130


def run(options: argparse.Namespace) -> int:
    """Train and repair; return 0 if that succeeds, 1 if not, 130 after an interrupt."""
    weights = None if options.save is None else _writable(check_path("--save", options.save))
    with redirect_stdout(sys.stderr):  # output of the user's code would spoil JSON
        arguments = arguments_of(options)
        folder = _folder(arguments)
        try:
            outcome = fit(**arguments)
        except UsageError:
            raise
        except SickbayError as error:  # the model as given cannot be trained
            _say(str(error))
            return 1
        except KeyboardInterrupt:
            _say(_interrupted(folder))
            return INTERRUPTED
    if weights is not None:
        _save(outcome, weights)
    _show(outcome, weights, options.json)
    return 0 if outcome.solved else 1


def arguments_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `fit`: options before the config before what the function returns."""
    chosen = {name: value for name, value in vars(options).items() if name in SETTINGS}
    if options.quiet:
        chosen["progress"] = False
    config = {} if options.config is None else read_config(check_path("--config", options.config))
    returned = call(options.factory)
    if not isinstance(returned, Mapping):
        got = type(returned).__name__
        raise UsageError(f"{options.factory} must return a dict with {NEEDED}; got {got}.")
    for name in returned:
        check_choice("argument of fit called", name, ARGUMENTS)
    for name in ("model", "data", "loss", "optimizer"):
        if name not in returned:
            got = short_repr(list(returned))
            raise UsageError(f"{options.factory} must return a dict with {NEEDED}; got {got}.")
    return from_names({**returned, **config, **chosen})


def _folder(arguments: Mapping[str, Any]) -> Path | None:
    """Return the folder that the repair will be recorded in, if any."""
    chart, resume = arguments.get("chart"), check_bool("resume", arguments.get("resume", False))
    if chart is None:
        if resume:
            raise UsageError("--resume needs the folder of the repair to continue as --chart.")
        return None
    path = check_path("chart", chart)
    with suppress(OSError):  # fit says what is wrong with it
        return path if resume else free_folder(path)
    return None


def _interrupted(folder: Path | None) -> str:
    if folder is None or not os.path.lexists(folder / FINGERPRINT):
        return "interrupted. Nothing is recorded; with --chart DIR it could be resumed."
    return (
        f"interrupted. It is recorded in {folder}; to go on, run the same command with "
        f"--chart {folder} --resume."
    )


def _save(outcome: Outcome, file: Path) -> None:
    with safe_files.usage_error_if_unwritable(file), safe_files.atomic_writer(file) as written:
        torch.save(on_cpu(outcome.model.state_dict()), written)


def _show(outcome: Outcome, weights: Path | None, as_json: bool) -> None:
    if as_json:
        saved = {"weights": None if weights is None else str(weights)}
        print(json.dumps(outcome.as_json() | saved, indent=2))
        return
    print(outcome.summary())
    if outcome.chart is not None:
        print(one_line(f"Every attempt is recorded in {outcome.chart}"))
    if weights is not None:
        print(one_line(f"The weights of the best model are in {weights}"))


def _say(text: str) -> None:
    print(f"sickbay: {one_line(text)}", file=sys.stderr)


def _writable(path: Path) -> Path:
    """Return a file to write after training. Raise `UsageError` now if it cannot be written."""
    with safe_files.usage_error_if_unwritable(path):
        if path.is_dir():
            raise UsageError(f"--save must be a file, got the folder {str(path)!r}.")
        with suppress(_Unwritten), safe_files.atomic_writer(path):
            raise _Unwritten  # it has made its draft, which is all that can fail
    return path


class _Unwritten(Exception):  # noqa: N818 - no error: it only leaves a block
    """Leaves a file as it was."""
