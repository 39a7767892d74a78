"""Runs in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import sickbay
from sickbay.repairs.run import Run, Update
from tests.repairs.failing_models import (
    Circles,
    Interrupted,
    Leaving,
    Mortal,
    Poison,
    Secretive,
    executor,
    healthy,
    pairs,
    recipe_for,
)
from tests.repairs.test_fit import fit, sick


@contextmanager
def training(models: Sequence[nn.Module], data: Any = None, epochs: int = 4) -> Iterator[Any]:
    """Train models in processes; yield their runs and the epochs that were reported."""
    where = executor(data)
    runs = [Run(number, recipe_for(model)) for number, model in enumerate(models)]
    reported: list[list[float]] = [[] for _ in runs]

    def on_epoch(run: Run, update: Update) -> None:
        run.take(update)
        reported[run.number].append(update.progress.epochs)

    try:
        for run in runs:
            where.start(run, None, None)
        where.advance(runs, epochs, True, on_epoch)
        yield runs, reported
    finally:
        for run in runs:
            where.close(run)


def test_a_process_that_dies_fails_only_its_run() -> None:
    models = Mortal(*healthy()), Mortal(*healthy(), by=signal.SIGKILL), healthy()
    with training(models) as (runs, reported):
        assert [run.progress.failed for run in runs] == [
            "its worker process exited by itself (exit code 3).",
            "its worker process was killed by SIGKILL, as happens when memory runs out.",
            "",
        ]
        assert reported == [[1, 1], [1, 1], [1, 2, 3, 4]]
    begun, best = healthy().state_dict(), runs[0].best  # of the epoch before it died
    assert not torch.equal(best["0.weight"], begun["0.weight"])
    assert torch.equal(best["0.weight"], runs[1].best["0.weight"])


def test_a_process_that_is_asked_to_leave_fails_its_run() -> None:
    with training([Mortal(*healthy(), by=signal.SIGTERM), Leaving(*healthy())]) as (runs, _):
        assert [run.progress.failed for run in runs] == [
            "its worker process exited by itself (exit code 1).",
            "its worker process exited by itself (exit code 4).",
        ]


def test_an_interrupt_raised_in_a_process_fails_only_its_run() -> None:
    with training([Interrupted(*healthy()), healthy()], epochs=1) as (runs, _):
        assert [run.progress.failed for run in runs] == [
            "its worker process was stopped by KeyboardInterrupt.",
            "",
        ]


def test_weights_that_cannot_be_sent_back_fail_the_run() -> None:
    with training([Secretive(*healthy())], epochs=1) as (runs, _):
        assert "pickle" in runs[0].progress.failed


def test_a_process_that_dies_between_two_heats_fails_its_run() -> None:
    where, run = executor(), Run(0, recipe_for(healthy()))
    try:
        where.start(run, None, None)
        where.advance([run], 1, True, Run.take)
        (process,) = multiprocessing.active_children()
        process.kill()
        process.join()
        where.advance([run], 1, True, Run.take)
    finally:
        where.close(run)
    assert run.progress.epochs == 1
    assert run.progress.failed.startswith("its worker process was killed by SIGKILL")


def test_a_repair_goes_on_without_one_that_has_died() -> None:
    outcome = fit(sick(), workers=2, remedies=[Poison(), "insert_normalisation"])
    died = next(each for each in outcome.attempts if each.remedy.startswith("poison"))
    assert died.result == "failed: its worker process exited by itself (exit code 3)."
    assert outcome.solved
    assert outcome.score > 0.95


def test_a_plain_training_whose_process_dies_is_no_success() -> None:
    with pytest.raises(sickbay.SickbayError) as error:
        fit(Mortal(*healthy(), by=signal.SIGSEGV), workers=2)
    assert str(error.value) == (
        "The model as given could not be trained: its worker process was killed by SIGSEGV."
    )


@pytest.mark.parametrize(
    "more", [{}, {"persistent_workers": True, "collate_fn": pairs}], ids=("plain", "persistent")
)
def test_a_loader_may_have_workers_of_its_own(more: dict[str, Any]) -> None:
    given: DataLoader[Any] = DataLoader(Circles(), 64, shuffle=True, num_workers=1, **more)
    with training([healthy()], given, epochs=1) as (runs, _):
        assert (runs[0].progress.failed, runs[0].progress.epochs) == ("", 1)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_none_outlives_the_one_that_has_started_it(tmp_path: Path, by: signal.Signals) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading, writing = (os.open(pipe, flag | os.O_NONBLOCK) for flag in (os.O_RDONLY, os.O_WRONLY))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PIPE": str(pipe)}
    command = [sys.executable, "-m", "tests.repairs.failing_models"]
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as running:
        try:
            assert heard(reading) == b"+"  # a loader in a worker is at work, and holds the pipe
            running.send_signal(by)
            running.wait(60)
        finally:
            running.kill()
    os.close(writing)
    deadline = time.monotonic() + 40  # it has work for more than that
    while heard(reading):
        assert time.monotonic() < deadline, "somebody is still at work"
    os.close(reading)


def heard(pipe: int) -> bytes:
    """Return what is in a pipe; nothing when nobody holds it any more."""
    assert select.select([pipe], [], [], 60)[0], "somebody still holds the pipe"
    return os.read(pipe, 1)


class Local:
    """Makes a loss that no other process can find."""

    @staticmethod
    def loss() -> Any:
        return lambda outputs, targets: nn.functional.binary_cross_entropy_with_logits(
            outputs, targets
        )


def test_what_cannot_be_sent(tmp_path: Path) -> None:
    with pytest.raises(sickbay.UsageError) as error:
        fit(healthy(), loss=Local.loss(), workers=2, chart=tmp_path / "run")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("loss cannot be sent to worker processes (Can't ")
    assert str(error.value).endswith("); define it at the top level of a file, or use workers=1.")
    assert not (tmp_path / "run").exists()
    assert fit(healthy(), loss=Local.loss(), workers=1, epochs=1).score > 0
