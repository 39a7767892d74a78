"""What every problem must honour, checked for each one in the folder `problems`."""

from collections.abc import Sequence
from importlib import import_module
from inspect import getdoc
from math import inf, nan
from pathlib import Path

import pytest

from sickbay import problems
from sickbay.findings import SEVERITIES
from sickbay.history import History
from sickbay.plugins import classes_in
from sickbay.problems import Problem
from sickbay.problems.by_name import EVERY
from sickbay.problems.profiles import PROFILES
from sickbay.thresholds import is_number, settings
from sickbay.vitals import KINDS, STATISTICS, Setup, Table, Vitals
from tools import write_exports

KINDS_OF_PROBLEMS = dict.fromkeys(
    [*EVERY.values(), *(type(each) for profile in PROFILES.values() for each in profile)]
)
every_problem = pytest.mark.parametrize(
    "kind", KINDS_OF_PROBLEMS, ids=lambda kind: kind.__module__.removeprefix("sickbay.problems.")
)
SECTIONS = ("Why it matters:", "How it is judged:", "Example:")  # "Reference:" may follow
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


def test_the_imports_are_up_to_date() -> None:
    for package in write_exports.PACKAGES:
        text = (write_exports.SOURCE / package / "__init__.py").read_text(encoding="utf-8")
        assert text == write_exports.exports(package), "run `make exports`"
    assert set(classes_in(problems, Problem)) == set(EVERY)  # type: ignore[type-abstract]


@every_problem
def test_has_its_own_file_test_and_name(kind: type[Problem]) -> None:
    package, _, module = kind.__module__.rpartition(".")
    assert module == kind.name()
    folder = Path(__file__).parent.joinpath(*package.split(".")[2:])
    assert (folder / f"test_{module}.py").exists()
    exporting = problems if EVERY[kind.name()] is kind else import_module(package)
    assert getattr(exporting, kind.__name__) is kind


@every_problem
def test_is_documented(kind: type[Problem]) -> None:
    words = getdoc(kind) or ""
    ours = EVERY[kind.name()] is kind  # or a paper's rule for one of ours
    sections = SECTIONS if ours else SECTIONS[1:3]
    places = [words.find(f"\n{section}\n    ") for section in sections]
    missing = [section for section, place in zip(sections, places, strict=True) if place < 0]
    assert not missing, f"the docstring lacks these sections: {missing}"
    assert places == sorted(places), f"the sections must come in this order: {sections}"
    assert words.splitlines()[0].endswith(".")
    assert ">>>" in words


@every_problem
def test_has_advice_and_a_severity(kind: type[Problem]) -> None:
    assert len(kind.advice.split()) > 3
    assert kind.severity in SEVERITIES


@every_problem
def test_every_threshold_says_what_it_is_and_its_bound(kind: type[Problem]) -> None:
    for setting in settings(kind):
        assert setting.metadata["doc"].endswith("."), setting.name
        if is_number(setting):
            assert {setting.metadata["above"], setting.metadata["least"]} != {None}, setting.name


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
