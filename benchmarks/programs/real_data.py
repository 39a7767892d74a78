"""Real data sets from the folder that `--data DIR` names."""

from __future__ import annotations

from pathlib import Path

from benchmarks.detection.data_sets import Data, load

_folder: Path | None = None


def use(folder: Path | None) -> None:
    """Set the folder to read from."""
    global _folder
    _folder = folder


def real(name: str, seed: int) -> Data:
    """Return a real data set; see `benchmarks.detection.data_sets.REAL` for the names."""
    return load(name, seed, _folder)
