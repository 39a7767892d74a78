"""Findings that are reported although another problem explains them."""

import pytest

from sickbay.doctor.causes import Causes
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from tests.doctor.test_causes import Log, Scripted, account, patience

__all__ = ["patience"]  # a fixture that is used by itself


class Fracture(Scripted):
    """Stands alone, though a fall explains it; it explains a limp."""

    explains = ("limp",)

    def stands_alone(self, _finding: Finding) -> bool:
        return True


class Limp(Scripted):
    pass


class Fall(Scripted):
    explains = ("fracture", "limp")


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        pytest.param([Fall("x"), Fracture("x")], ["fall fracture"], id="at-once"),
        pytest.param([Fall("xx"), Fracture(".x")], ["fall", "fracture"], id="later"),
        pytest.param([Fall("x"), Limp("x")], ["fall(limp)"], id="others-are-explained"),
        pytest.param([Fracture("x"), Limp("x")], ["fracture(limp)"], id="it-explains-others"),
        pytest.param(
            [Fall("xx"), Fracture(".x"), Limp(".x")],
            ["fall", "fracture limp<fall"],
            id="what-was-said-first-explains",
        ),
        pytest.param(
            [Fall("x" * 8), Fracture("x.....x.")],
            ["fall fracture", *[""] * 4, "-fracture", "fracture<fall", ""],
            id="the-second-time-it-is-explained",
        ),
    ],
)
def test_what_stands_alone_is_reported_whatever_explains_it(
    problems: list[Problem], expected: list[str]
) -> None:
    assert account(*problems, times=len(expected)) == expected


def test_what_stands_alone_is_present_beside_its_cause() -> None:
    causes = Causes([Fall("x"), Fracture("x"), Limp("x")], Guard(Log().report))
    causes.judge(History(loss=[1.0]))
    assert causes.standing == ["fall", "fracture"]
