"""Read damaged files with every function that reads such files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import numpy as np

import sickbay
from benchmarks.fuzz import sound_files
from benchmarks.fuzz.damage_folder import Tree, changed, damage, in_bytes, write
from benchmarks.fuzz.damage_with_valid_checksums import seal
from benchmarks.fuzz.fuzz_input import FuzzInput, Run
from benchmarks.fuzz.run_wrong_commands import command
from benchmarks.tuning import pool
from sickbay.chart import Chart
from sickbay.problems.profiles import choose
from sickbay.tuning.replay import replay as replay_search

CHARTS: tuple[Callable[[], Tree], ...] = (
    sound_files.chart,
    sound_files.watched,
    sound_files.old_chart,
)
USES: dict[str, Callable[[Chart], object]] = {
    "setup": lambda chart: repr(chart.setup),
    "started": lambda chart: chart.started,
    "findings": lambda chart: list(map(str, chart.findings())),
    "events": lambda chart: list(map(str, chart.events())),
    "history": lambda chart: use(chart.history()),
    "window": lambda chart: use(chart.history(3)),
    "replay": lambda chart: [history.step for history in chart.replay()],
    "epochs": lambda chart: [seconds for _, seconds in chart.epochs()],
}


def use(history: sickbay.History) -> None:
    """Read everything from a history."""
    repr(history)
    for name in history.scalars():
        history.recent(name, 5), history.first(name), history.best(name), history.epochs(name)
    for kind in ("gradient", "weight", "activation", "batch"):
        for table in history.tables(kind, 9):
            history.kernels(table), table.layers, table.is_finite


def charts(case: FuzzInput) -> None:
    """Open a damaged chart and read everything in random order."""
    base = case.random.choice(CHARTS)
    tree = dict(base())
    case.note("chart", base.__name__, *hurt(tree, case.random))
    write(tree, case.home / "c")
    chart = Chart.open(case.home / "c")
    uses = list(USES)
    case.random.shuffle(uses)
    for name in uses:
        case.note(name)
        USES[name](chart)


def hurt(tree: Tree, random: Random) -> list[str]:
    """Damage charts, with or without correcting their checksums."""
    done = seal(tree, random) if random.random() < 0.3 else []
    return done if done and random.random() < 0.7 else [*done, *damage(tree, random)]


def searches(case: FuzzInput) -> None:
    """Replay a search with a damaged chart or note."""
    tree = dict(sound_files.search())
    case.note("search", *hurt(tree, case.random))
    write(tree, case.home / "s")
    replay(case, case.home / "s")


def replay(case: FuzzInput, source: Path) -> None:
    choices: tuple[list[str], ...] = (
        [], [], ["--trials"], ["--json", str(case.home / "o.json")], ["--metric", "loss"],
        ["--profile", "default"], ["--profile", "bttackler", "--direction", "minimize"],
        ["--calibrate"],
    )  # fmt: skip
    options = case.random.choice(choices)
    case.note(*options)
    command(["replay", str(source), *options])


def pools(case: FuzzInput) -> None:
    """Replay a pool that is damaged inside its archive or as a file."""
    data = sound_files.pooled()["pool.zip"]
    assert isinstance(data, bytes)
    random = case.random
    tree: Tree = {"pool.zip": data}
    if random.random() < 0.7:
        members, done = opened(data, random)
        tree["pool.zip"] = zipped(members, random)
    else:
        done = damage(tree, random)
    case.note("pool", *done)
    write(tree, case.home)
    replay_search(pool.read_pool(case.home / "pool.zip"), choose("tuning"))


def opened(data: bytes, random: Random) -> tuple[dict[str, bytes], list[str]]:
    """Damage one member of an archive. Return all members and a description."""
    with ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = random.choice((*members, "pool.json", "pool.json"))
    if name == "pool.json":
        members[name] = changed(json.loads(members[name]), random).encode("utf-8", "surrogatepass")
        return members, ["JSON inside"]
    if random.random() < 0.4:
        members[name] = in_bytes(members[name], random)
        return members, [f"bytes of {name} inside"]
    array, what = random.choice(ODD_ARRAYS)
    members[name] = array
    return members, [f"{what} as {name}"]


def saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def claiming(shape: str, kind: str = "|u1") -> bytes:
    """Return the header of an array that claims to be large."""
    words = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    words = words.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words.encode() + b"\0" * 16


ODD_ARRAYS = [
    (b"", "nothing"),
    (saved(np.zeros(0, np.uint8)), "an empty array"),
    (saved(np.zeros((3, 5), np.uint8)), "three planes"),
    (saved(np.zeros((4, 2), np.float64)), "floats"),
    (saved(np.zeros((4, 0), np.uint8)), "no numbers"),
    (saved(np.full((4, 400), 255, np.uint8)), "NaN"),
    (saved(np.array([None, "x"], object)), "objects"),
    (saved(np.zeros((), np.uint8)), "a scalar"),
    (claiming("(4, 1099511627776)"), "a huge array"),
    (claiming("(4, 1073741824)"), "a large array"),
    (claiming("(4, -1)"), "a negative array"),
    (claiming("(4, 2)", "|O"), "a pickle"),
    (b"\x80\x04N.", "a bare pickle"),
    (b"PK\x03\x04", "an archive"),
]


def zipped(members: dict[str, bytes], random: Random) -> bytes:
    file = io.BytesIO()
    packing = random.choice((ZIP_LZMA, ZIP_DEFLATED, ZIP_STORED))
    with ZipFile(file, "w", packing) as archive:
        for name, data in members.items():
            if random.random() > 0.02:
                archive.writestr(name, data)
        if random.random() < 0.02:
            archive.writestr("../outside", b"x")
    return file.getvalue()


def journals(case: FuzzInput) -> None:
    """Replay a damaged Optuna journal."""
    tree = dict(sound_files.journal())
    case.note("journal", *damage(tree, case.random))
    write(tree, case.home)
    replay(case, case.home / "study.log")


def resumed(case: FuzzInput) -> None:
    """Resume a repair from a damaged folder."""
    case.slow_down()
    tree = dict(sound_files.repair())
    case.note("resume", *damage(tree, case.random))
    write(tree, case.home / "r")
    sound_files.fit_in(case.home / "r", resume=True)


def beside(case: FuzzInput) -> None:
    """Record a run into a folder that already holds damaged files."""
    tree = dict(case.random.choice(CHARTS)())
    case.note("chart into a damaged folder", *damage(tree, case.random))
    write(tree, case.home / "c")
    sound_files.write_chart(case.home / "c")


KINDS: dict[Run, float] = {
    charts: 50,
    searches: 12,
    pools: 20,
    journals: 8,
    resumed: 5,
    beside: 5,
}
