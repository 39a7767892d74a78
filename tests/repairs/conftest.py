"""What all tests of repairs need."""

import os
from collections.abc import Iterator

import pytest
import torch


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
