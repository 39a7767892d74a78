"""A repair that was interrupted is resumed and comes to the same."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.repairs import journal, run_files
from tests.repairs.resumable import run
from tests.repairs.test_fit import fit, healthy, sick

PASSES = {"left": 10**9}  # not in the class, whose values tell one run from another


class Interrupting(nn.Sequential):
    """Is interrupted in training, after so many passes."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            PASSES["left"] -= 1
            if PASSES["left"] < 0:
                raise KeyboardInterrupt
        made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return made


@pytest.fixture
def interrupted_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda passes: monkeypatch.setitem(PASSES, "left", passes)


def of(model: nn.Module) -> nn.Module:
    return Interrupting(*model.children())


def test_an_interrupted_first_attempt_is_kept_and_resumed(
    interrupted_after: Callable[[int], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    whole = fit(of(healthy()))
    interrupted_after(3 * 8 + 4)  # of 8 batches an epoch
    with pytest.raises(KeyboardInterrupt):
        fit(of(healthy()), chart=path, progress=True)
    assert "attempt 0 was interrupted after 3 epochs" in capsys.readouterr().err
    assert sickbay.Chart.open(path / "attempt-0").history().step > 0
    kept = run_files.load(path / "attempt-0.pt")
    assert (kept.over, kept.epochs) == (False, 3)
    healthy().load_state_dict(kept.best)
    interrupted_after(10**9)
    resumed = fit(of(healthy()), chart=path, resume=True, progress=True)
    said = capsys.readouterr().err
    assert "attempt 0 was interrupted after 3 of 20 epochs; it is trained again" in said
    assert (resumed.score, resumed.history) == (whole.score, whole.history)
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_kept_is_told_below_the_traceback(
    interrupted_after: Callable[[int], None], tmp_path: Path, recorded: bool
) -> None:
    interrupted_after(4)
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt) as raised:
        fit(of(healthy()), chart=path if recorded else None)
    last = traceback.format_exception(raised.value)[-1]
    assert last.startswith("sickbay: interrupted.")
    assert (f"resume=True with chart={str(path)!r}" in last) is recorded
    assert ("Nothing is recorded" in last) is not recorded


def test_an_interrupted_repair_comes_to_the_same(
    interrupted_after: Callable[[int], None], tmp_path: Path
) -> None:
    whole = fit(of(sick()), epochs=10)
    assert len(whole.attempts) > 2
    first = int(whole.attempts[0].epochs * 8)
    interrupted_after(first + 60)
    with pytest.raises(KeyboardInterrupt):
        fit(of(sick()), epochs=10, chart=tmp_path / "run")
    assert run_files.load(tmp_path / "run" / "attempt-0.pt").over
    interrupted_after(10**9)
    resumed = fit(of(sick()), epochs=10, chart=tmp_path / "run", resume=True)
    assert resumed.as_json() | {"chart": None} == whole.as_json()
    lines = (tmp_path / "run" / journal.ATTEMPTS).read_text().splitlines()
    assert len(lines) == len(whole.attempts)


def test_the_best_weights_are_kept_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    real = run_files.save

    def save(path: Path, record: run_files.Record) -> None:
        seen.append(record.epochs if not record.over else -1)
        real(path, record)

    monkeypatch.setattr(journal, "SECONDS", 0.0)
    monkeypatch.setattr(journal, "SHARE", 1e9)
    monkeypatch.setattr(run_files, "save", save)
    run(tmp_path / "run", epochs=3)
    assert seen == [1, 2, 3, -1]
