"""Attempts in processes of their own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import sickbay
from sickbay.repairs.processes import Processes
from sickbay.repairs.trainee import Trainee
from tests.repairs.test_fit import fit, sick
from tests.repairs.unsteady import Circles, Mortal, Poison, healthy, job, pairs


@pytest.fixture
def crew() -> Iterator[Any]:
    started: list[Trainee] = []

    class Noted(Processes):
        def start(self, *args: Any) -> Trainee:
            started.append(super().start(*args))
            return started[-1]

    yield Noted(2)
    for each in started:
        each.close()


def test_one_that_dies_ends_only_its_attempt(crew: Processes) -> None:
    heard: list[float] = []
    itself = crew.start(job(Mortal(*healthy())), lambda report: heard.append(report.epochs))
    killed = crew.start(job(Mortal(*healthy(), by=signal.SIGKILL)), lambda _: None)
    sound = crew.start(job(healthy()), lambda _: None)
    reports = crew.advance([itself, killed, sound], 4)
    assert [each.failed for each in reports] == [
        "its worker process ended by itself (exit code 3).",
        "its worker process was ended by SIGKILL, as it happens when memory runs out.",
        "",
    ]
    assert [each.epochs for each in reports] == [1, 1, 4]
    assert heard == [1]
    begun, best = healthy().state_dict(), itself.weights()[0]  # of the epoch that it has lived
    assert not torch.equal(best["0.weight"], begun["0.weight"])
    assert torch.equal(best["0.weight"], killed.weights()[0]["0.weight"])
    assert itself.report().failed  # it stays so, whatever it is asked for
    itself.advance(1)
    assert itself.report() == reports[0]


def test_a_repair_goes_on_without_one_that_has_died() -> None:
    outcome = fit(sick(), workers=2, remedies=[Poison(), "insert_normalisation"])
    died = next(each for each in outcome.attempts if each.remedy.startswith("poison"))
    assert died.result == "failed: its worker process ended by itself (exit code 3)."
    assert outcome.solved
    assert outcome.score > 0.95


def test_a_plain_training_whose_process_dies_is_no_success() -> None:
    with pytest.raises(sickbay.SickbayError) as error:
        fit(Mortal(*healthy(), by=signal.SIGSEGV), workers=2)
    assert str(error.value) == (
        "The model as given could not be trained: its worker process was ended by SIGSEGV."
    )


@pytest.mark.parametrize(
    "more", [{}, {"persistent_workers": True, "collate_fn": pairs}], ids=("plain", "persistent")
)
def test_a_loader_may_have_workers_of_its_own(crew: Processes, more: dict[str, Any]) -> None:
    given: DataLoader[Any] = DataLoader(Circles(), 64, shuffle=True, num_workers=1, **more)
    trainee = crew.start(job(healthy(), given), lambda _: None)
    report = crew.advance([trainee], 1)[0]
    assert (report.failed, report.epochs) == ("", 1)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_none_outlives_the_one_that_has_started_it(tmp_path: Path, by: signal.Signals) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading, writing = (os.open(pipe, flag | os.O_NONBLOCK) for flag in (os.O_RDONLY, os.O_WRONLY))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PIPE": str(pipe)}
    command = [sys.executable, "-m", "tests.repairs.unsteady"]
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
