"""A chart writer for the tests."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sickbay.chart import ChartWriter
from tests.chart.small_run import SETUP


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[ChartWriter]:
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        yield writer
