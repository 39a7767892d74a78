"""What all tests of repairs need."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.repairs.own_module import MODULE


@pytest.fixture(autouse=True)
def no_odds_of_earlier_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what earlier repairs have learnt, which would change what comes next."""
    monkeypatch.setenv("SICKBAY_HOME", os.devnull)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Multiply the small matrices of these tests in one thread, which is fastest."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a module called `mine` into the current folder."""
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
