from dataclasses import dataclass, field

import pytest
import torch

import sickbay
from sickbay.doctor import causes as under_test
from sickbay.doctor.causes import Causes
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from tests.models import features, mlp


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the patience, which was measured and is not tested here."""
    monkeypatch.setattr(under_test, "PATIENCE", 5)


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
    causes = Causes(problems, Guard((log or Log()).report))
    said = []
    for step in range(times):
        verdict = causes.judge(History(loss=[1.0] * (step + 1)))
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
    causes = Causes([Scripted("x....."), Other(".xxxxx")], Guard(Log().report))
    standing = []
    for step in range(6):
        causes.judge(History(loss=[1.0] * (step + 1)))
        standing.append(list(causes.standing))
    assert standing == [["scripted"], *[["scripted", "other"]] * 4, ["other"]]
    assert list(causes.problems) == ["scripted", "other"]


class Flu(Scripted):
    explains = ("fever",)


class Fever(Scripted):
    explains = ("sweat",)


class Sweat(Scripted):
    pass


class Cut(Scripted):
    pass


def account(*problems: Problem, times: int) -> list[str]:
    """Judge so often; return what was reported: `cause(consequence)`, `late<cause`, `-gone`."""
    causes = Causes(problems, Guard(Log().report))
    reported = []
    for step in range(times):
        verdict = causes.judge(History(loss=[1.0] * (step + 1)))
        words = [
            finding.problem
            + (f"({' '.join(finding.consequences)})" if finding.consequences else "")
            for finding in verdict.new
        ]
        words += [f"{finding.problem}<{cause}" for finding, cause in verdict.explained]
        reported.append(" ".join([*words, *(f"-{name}" for name in verdict.gone)]))
    return reported


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        pytest.param([Flu("x"), Fever("x")], ["flu(fever)"], id="consequence"),
        pytest.param([Flu("x"), Cut("x")], ["flu cut"], id="independent"),
        pytest.param(
            [Flu("x"), Fever("x"), Sweat("x"), Cut("x")], ["flu(fever sweat) cut"], id="chain"
        ),
        pytest.param([Flu("x"), Sweat("x")], ["flu sweat"], id="chain-with-a-gap"),
        pytest.param([Fever("x"), Flu("x")], ["fever flu"], id="cause-of-lower-priority"),
        pytest.param([Flu("xx"), Fever(".x")], ["flu", "fever<flu"], id="consequence-later"),
        pytest.param([Flu("x."), Fever(".x")], ["flu", "fever<flu"], id="while-the-cause-pauses"),
        pytest.param(
            [Flu("xx"), Fever(".x"), Sweat(".x")],
            ["flu", "fever<flu sweat<flu"],
            id="chain-later",
        ),
        pytest.param([Flu(".x"), Fever("xx")], ["fever", "flu"], id="cause-after-its-consequence"),
        pytest.param(
            [Flu(".xx"), Fever("xxx"), Sweat("..x")],
            ["fever", "flu", "sweat<fever"],
            id="what-was-said-goes-on-explaining",
        ),
        pytest.param(
            [Flu("x" * 7), Fever("x......")], ["flu(fever)", *[""] * 6], id="its-end-is-not-said"
        ),
        pytest.param(
            [Flu("x" * 8), Fever("x.....x.")],
            ["flu(fever)", *[""] * 5, "fever<flu", ""],
            id="consequence-again",
        ),
    ],
)
def test_causes(problems: list[Problem], expected: list[str]) -> None:
    assert account(*problems, times=len(expected)) == expected


@pytest.mark.parametrize(
    ("pause", "expected"),
    [pytest.param(8, "fever<flu", id="soon"), pytest.param(9, "fever", id="long-after")],
)
def test_a_cause_explains_only_so_long_after_it_is_gone(
    pause: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_test, "EXPLAINS_FOR", 8)
    reported = account(Flu(".x" + "." * pause), Fever("." * pause + ".x"), times=pause + 2)
    assert (reported[1], reported[6], reported[-1]) == ("flu", "-flu", expected)


class Hiccup(Scripted):
    explains = ("fever",)

    def lasts(self, _finding: Finding) -> bool:
        return False


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        pytest.param([Hiccup("x"), Fever("x")], ["hiccup(fever)"], id="at-once"),
        pytest.param([Hiccup("xx"), Fever(".x")], ["hiccup", "fever<hiccup"], id="still-there"),
        pytest.param([Hiccup("x."), Fever(".x")], ["hiccup", "fever"], id="over"),
        pytest.param(
            [Hiccup("x.x"), Fever("..x")], ["hiccup", "", "fever<hiccup"], id="there-again"
        ),
    ],
)
def test_what_leaves_no_damage_explains_only_while_it_is_there(
    problems: list[Problem], expected: list[str]
) -> None:
    assert account(*problems, times=len(expected)) == expected


def test_a_batch_that_was_skipped_explains_nothing_later() -> None:
    torch.manual_seed(0)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="treat")
    for step in range(40):
        x = features()
        y = x[:, :4].sin()
        if step == 20:
            x[0, 0] = torch.nan
        if step == 23:
            optimizer.param_groups[0]["lr"] = 1e3
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    found = [(finding.problem, finding.step) for finding in doctor.findings]
    assert found[:2] == [("non_finite", 20), ("learning_rate_too_high", 23)]
    assert {each.problem for each in doctor.treatments} >= {"non_finite", "learning_rate_too_high"}


def test_what_is_explained_does_not_stand_by_itself() -> None:
    causes = Causes([Flu("xx"), Fever("xx"), Cut(".x")], Guard(Log().report))
    causes.judge(History(loss=[1.0]))
    assert causes.standing == ["flu"]
    causes.judge(History(loss=[1.0] * 2))
    assert causes.standing == ["flu", "cut"]


class Hen(Scripted):
    explains = ("egg",)


class Egg(Scripted):
    explains = ("hen", "egg")


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        pytest.param([Hen("x"), Egg("x")], ["hen(egg)"], id="at-once"),
        pytest.param([Egg("x"), Hen("x")], ["egg(hen)"], id="at-once-the-other-way"),
        pytest.param([Hen(".x"), Egg("xx")], ["egg", "hen<egg"], id="one-after-the-other"),
        pytest.param([Egg("x.....x")], ["egg", *[""] * 4, "-egg", "egg"], id="itself"),
    ],
)
def test_what_explains_each_other_is_said_all_the_same(
    problems: list[Problem], expected: list[str]
) -> None:
    assert account(*problems, times=len(expected)) == expected


class Sniffle(Scripted):
    severity = "info"
    explains = ("fever",)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        pytest.param(Flu("x"), ["flu"], id="a-warning"),
        pytest.param(Sniffle("x"), ["sniffle", "fever"], id="an-info"),
    ],
)
def test_an_info_hides_no_warning(cause: Problem, expected: list[str]) -> None:
    assert judgements(cause, Fever("x"), times=1) == [expected]
