from dataclasses import dataclass, field

import pytest

from sickbay.doctor.ward import PATIENCE, Ward
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.vitals.guard import Guard


class Scripted(Problem):
    """Is there or not as its script says; "!" fails."""

    advice = "none"

    def __init__(self, script: str) -> None:
        self.script = iter(script)
        self.asked = 0

    def check(self, history: History) -> Finding | None:
        self.asked += 1
        sign = next(self.script)
        if sign == "!":
            raise RuntimeError("bad day")
        return self.found(history, "seen") if sign == "x" else None


class Other(Scripted):
    """Another one."""


@dataclass
class Log:
    troubles: list[str] = field(default_factory=list)

    def report(self, part: str, error: Exception) -> None:
        self.troubles.append(f"{part}: {error}")


def judgements(*problems: Problem, times: int, log: Log | None = None) -> list[list[str]]:
    """Judge so often; return what was said each time, with a minus for what is gone."""
    ward = Ward(problems, Guard((log or Log()).report))
    said = []
    for step in range(times):
        verdict = ward.judge(History(loss=[1.0] * (step + 1)))
        new, gone = verdict.new, verdict.gone
        assert all(finding.step == step for finding in new)
        said.append([*(finding.problem for finding in new), *(f"-{name}" for name in gone)])
    return said


@pytest.mark.parametrize(
    ("script", "new", "gone"),
    [
        pytest.param("......", [], [], id="healthy"),
        pytest.param("..xxxx", [2], [], id="said-once"),
        pytest.param("x....x....x", [0], [], id="away-too-short"),
        pytest.param("x....", [0], [], id="not-yet-gone"),
        pytest.param("x.....", [0], [5], id="gone"),
        pytest.param("x...........", [0], [5], id="gone-once"),
        pytest.param("x.....x..........", [0, 6], [5, 16], id="said-again-and-given-more-time"),
        pytest.param("x....x.....", [0], [10], id="patience-starts-anew"),
        pytest.param(".....x", [5], [], id="absence-before-does-not-count"),
    ],
)
def test_said_once_and_once_when_gone(script: str, new: list[int], gone: list[int]) -> None:
    said = judgements(Scripted(script), times=len(script))
    assert PATIENCE == 5
    assert [step for step, each in enumerate(said) if "scripted" in each] == new
    assert [step for step, each in enumerate(said) if "-scripted" in each] == gone


def test_problems_are_apart() -> None:
    said = judgements(Scripted("x......"), Other(".xxxxxx"), times=7)
    assert said == [["scripted"], ["other"], [], [], [], ["-scripted"], []]


def test_new_ones_come_in_the_order_of_the_problems() -> None:
    assert judgements(Other("x"), Scripted("x"), times=1) == [["other", "scripted"]]


def test_what_fails_is_switched_off_and_the_others_go_on() -> None:
    broken, log = Scripted(".!xxx"), Log()
    said = judgements(broken, Other("...xx"), times=5, log=log)
    assert said == [[], [], [], ["other"], []]
    assert log.troubles == ["problem scripted: bad day"]
    assert broken.asked == 2


def test_what_fails_while_it_stands_is_gone_after_a_while() -> None:
    said = judgements(Scripted("x!"), times=7)
    assert said == [["scripted"], [], [], [], [], ["-scripted"], []]


def test_standing() -> None:
    ward = Ward([Scripted("x....."), Other(".xxxxx")], Guard(Log().report))
    standing = []
    for step in range(6):
        ward.judge(History(loss=[1.0] * (step + 1)))
        standing.append(list(ward.standing))
    assert standing == [["scripted"], *[["scripted", "other"]] * 4, ["other"]]
    assert list(ward.problems) == ["scripted", "other"]
