"""What every problem must honour, checked for each one listed in `sickbay.problems`."""

from collections.abc import Sequence
from dataclasses import fields
from inspect import getdoc
from math import inf, nan
from pathlib import Path

import pytest

from sickbay import problems
from sickbay.findings import SEVERITIES
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import EVERY, PROFILES
from sickbay.vitals import KINDS, STATISTICS, Setup, Table, Vitals

every_problem = pytest.mark.parametrize("kind", EVERY.values(), ids=EVERY)
SECTIONS = ("Why it matters:", "How it is judged:", "Example:", "Reference:")
KERNELS = {"a.weight": (3, 3), "b.weight": (3, 3)}
BIASES = {"a.bias": (3,), "b.bias": (3,)}
ROWS: dict[str, Sequence[str]] = {
    "none": (),
    "one": ("a.weight",),
    "kernels": tuple(KERNELS),
    "biases": tuple(BIASES),
    "mixed": (*KERNELS, *BIASES),
}


def history(value: float, length: int, names: Sequence[str] | None) -> History:
    made = History(
        Setup(shapes={**KERNELS, **BIASES}, layers={"a": "Embedding", "b": "Linear"}),
        loss=[value] * length,
        grad_norm=[value] * length,
    )
    for step in range(length if names is not None else 0):
        rows = {name: dict.fromkeys(STATISTICS, value) for name in names or ()}
        tables = [Table.of(kind, step, rows) for kind in KINDS]
        made.append(Vitals(step=step, tables=tables))
    return made


def candidates(kind: type[Problem]) -> list[Problem]:
    tuned = [each for profile in PROFILES.values() for each in profile]
    return [kind(), *(each for each in tuned if isinstance(each, kind))]


def test_every_file_is_listed() -> None:
    files = {path.stem for path in Path(str(problems.__file__)).parent.glob("*.py")}
    shared = {
        "base",
        "compared",
        "gradient",
        "groups",
        "learning",
        "norms",
        "sampled",
        "stages",
        "updates",
    }
    assert files - {"__init__", "profiles", *shared} == set(EVERY)


@every_problem
def test_has_its_own_file_test_and_name(kind: type[Problem]) -> None:
    assert Path(__file__).with_name(f"test_{kind.name()}.py").exists()
    assert kind.__module__ == f"sickbay.problems.{kind.name()}"
    assert getattr(problems, kind.__name__) is kind


@every_problem
def test_is_documented(kind: type[Problem]) -> None:
    words = getdoc(kind) or ""
    places = [words.find(f"\n{section}\n    ") for section in SECTIONS]
    assert places == sorted(places)
    assert places[0] > 0
    assert words.splitlines()[0].endswith(".")
    assert ">>>" in words


@every_problem
def test_has_advice_and_a_severity(kind: type[Problem]) -> None:
    assert len(kind.advice.split()) > 3
    assert kind.severity in SEVERITIES


@every_problem
def test_every_threshold_says_what_it_is_and_its_bound(kind: type[Problem]) -> None:
    for limit in fields(kind()):  # type: ignore[arg-type]
        assert limit.metadata["doc"].endswith("."), limit.name
        assert {limit.metadata["above"], limit.metadata["least"]} != {None}, limit.name


@every_problem
@pytest.mark.parametrize("rows", [None, *ROWS])
def test_never_fails_whatever_the_numbers(kind: type[Problem], rows: str | None) -> None:
    names = None if rows is None else ROWS[rows]
    for value in (0.0, 1.0, -1.0, 1e-30, 1e30, inf, -inf, nan):
        for length in (0, 1, 2, 40):
            made = history(value, length, names)
            for problem in candidates(kind):
                problem.check(made)
                made.end_epoch(loss=value)
                problem.check(made)
                made.end_epoch(accuracy=0.1)
                finding = problem.check(made)
                assert finding is None or finding.message


@every_problem
def test_never_fails_on_an_epoch_without_steps(kind: type[Problem]) -> None:
    rows = {name: dict.fromkeys(STATISTICS, 1.0) for name in KERNELS}
    made = History()
    for step in range(3):
        made.append(Vitals(step=step, tables=[Table.of(each, step, rows) for each in KINDS]))
    made.end_epoch(loss=1.0, val_loss=1.0)
    for problem in candidates(kind):
        problem.check(made)


@every_problem
def test_checking_changes_nothing_and_repeats(kind: type[Problem]) -> None:
    made = history(nan, 3, ROWS["mixed"])
    before = [made.recent("loss", 9), made.step, made.epoch, made.epochs("loss")]
    first, second = kind().check(made), kind().check(made)
    assert str(first) == str(second)
    assert str([made.recent("loss", 9), made.step, made.epoch, made.epochs("loss")]) == str(before)
