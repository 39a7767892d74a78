"""Examine one model with the default tests, and measure what the checkup costs and leaves."""

from __future__ import annotations

import io
import logging
import random
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.checkup.case import Inputs
from benchmarks.checkup.examine_model import chosen_for
from benchmarks.models import memory
from benchmarks.models.all_models import Model, every
from benchmarks.models.unchanged import changed, parts_of
from benchmarks.report_page import plain
from sickbay.checkups import Report, checkup
from sickbay.findings import Severity

Record = dict[str, Any]
FAIL_ON: Severity = "critical"  # of the command line, by default


def examine(name: str) -> Record:
    """Return the record of a model."""
    model = every()[name]
    with quiet():
        given = made(model)
        measured = measure(given, model)
    weights = sum(each.numel() * each.element_size() for each in given.model.parameters())
    fault = model.fault
    record: Record = plain(
        {
            "name": name,
            "library": model.architecture.library,
            "half": model.half,
            "fault": fault and {"about": fault.about, "finds": list(fault.finds)},
            "weights": weights / 1e6,
            **measured,
        }
    )
    return record


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what libraries print, log and warn of."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def made(model: Model) -> Inputs:
    """Return new arguments of a checkup, with random numbers that follow from the name."""
    number = zlib.crc32(model.name.encode())
    torch.manual_seed(number)
    np.random.seed(number)
    random.seed(number)
    return model.make()


def measure(given: Inputs, model: Model) -> Record:
    """Return what a checkup says, whether it raises, its time, its memory and what it changed."""
    before = parts_of(given)
    memory.forget_peak()
    start, used = perf_counter(), memory.used()
    report, raised = None, ""
    try:
        report = run_checkup(given, model)
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    seconds, peak = perf_counter() - start, memory.peak()
    return {
        "seconds": seconds,
        "memory": None if used is None or peak is None else max(0.0, peak - used),
        "changed": changed(before, given),
        "raised": raised,
        "exit": 2 if report is None else int(report.fails(FAIL_ON)),
        "results": [] if report is None else results(report),
    }


def run_checkup(given: Inputs, model: Model) -> Report:
    tests = {each.name(): each for each in chosen_for("")}
    for name in model.fault.finds if model.fault else ():
        tests |= {each.name(): each for each in chosen_for(name)}
    return checkup(
        given.model,
        given.batch,
        given.loss,
        given.optimizer,
        tests=list(tests.values()),
        validation=given.validation,
        progress=False,
    )


def results(report: Report) -> list[Record]:
    """Return what is kept of each result."""
    kept = ("test", "outcome", "severity", "message", "seconds")
    return [{name: getattr(each, name) for name in kept} for each in report.results]
