"""Run inputs one by one in a process with limits."""

from __future__ import annotations

import os
import random
import shutil
import sys
import traceback
import warnings
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from benchmarks.fuzz.damage_folder import OUTSIDE
from benchmarks.fuzz.fuzz_input import FuzzInput, Run
from benchmarks.fuzz.verdict import Verdict, judge

PARTS = {"files": 60.0, "calls": 30.0, "commands": 10.0}
UNTOUCHED = b"untouched"


class Followed(Exception):  # noqa: N818
    """A file was written through a link."""


class OutOfMemory(Exception):  # noqa: N818
    """An input used too much memory."""


class Runner:
    """Runs inputs by number. An input depends only on its number and the seed."""

    def __init__(self, seed: int, only: str | None, home: Path) -> None:
        import numpy
        import torch

        from benchmarks.fuzz import (
            call_with_wrong_arguments,
            odd_modules,
            read_damaged_files,
            run_wrong_commands,
        )

        self._seed, self._only, self._home = seed, only, home
        self._numpy, self._torch = numpy.random, torch
        self._kinds: dict[str, dict[Run, float]] = {
            "files": read_damaged_files.KINDS,
            "calls": call_with_wrong_arguments.kinds(),
            "commands": run_wrong_commands.KINDS,
        }
        odd_modules.write(home / "modules")
        (home / OUTSIDE).write_bytes(UNTOUCHED)

    def run(self, number: int, show: bool = False) -> Verdict:
        """Run one input and return the verdict."""
        from benchmarks.fuzz.time_and_memory_limits import GROWTH, peak, seconds

        drawn = random.Random(f"{self._seed}/{number}")
        part = self._only or drawn.choices(list(PARTS), list(PARTS.values()))[0]
        folder = self._home / f"{number}"
        folder.mkdir()
        os.chdir(folder)
        case = FuzzInput(drawn, folder, [part])
        self._settle(number)
        before, error = peak(), None
        try:
            with seconds(case.limit):
                case.pick(self._kinds[part])(case)
            if (self._home / OUTSIDE).read_bytes() != UNTOUCHED:
                (self._home / OUTSIDE).write_bytes(UNTOUCHED)
                raise Followed("a file was written through a link")
            if peak() - before > GROWTH:
                raise OutOfMemory(f"it used {(peak() - before) >> 20} MiB more")
        except BaseException as raised:
            error = raised
        os.chdir(self._home)
        shutil.rmtree(folder, ignore_errors=True)
        if show and error is not None:
            traceback.print_exception(error)
        verdict = judge(number, " | ".join(case.what).replace(str(folder), "."), error, case.loop)
        if error is not None:
            error.__traceback__ = None
        return verdict

    def _settle(self, number: int) -> None:
        """Reset all random numbers for an input."""
        random.seed(number)
        self._numpy.seed(number % 2**32)
        self._torch.manual_seed(number)
        self._torch.set_grad_enabled(True)


def prepare(home: Path) -> None:
    """Isolate this process: own folders, one thread, no warnings."""
    os.environ["SICKBAY_HOME"] = str(home / "state")
    os.environ["HOME"] = str(home)
    os.environ["COLUMNS"] = "120"
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1000)
    import torch

    torch.set_num_threads(1)


def serve(
    line: Connection, current: Synchronized[int], seed: int, only: str | None, home: str
) -> None:
    """Run the ranges of inputs that arrive, until None arrives."""
    from benchmarks.fuzz.time_and_memory_limits import cap_memory

    place = Path(home)
    place.mkdir(parents=True, exist_ok=True)
    prepare(place)
    sink = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stderr = sink
    os.dup2(sink.fileno(), 1), os.dup2(sink.fileno(), 2)
    runner = Runner(seed, only, place)
    for warm in range(-40, 0):  # load modules before inputs are measured
        runner.run(warm)
    cap_memory()
    while (span := line.recv()) is not None:
        for number in range(*span):
            current.value = number
            verdict = runner.run(number)
            line.send(replace(verdict, what=verdict.what[:400]))
        line.send(None)
