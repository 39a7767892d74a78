import json
import subprocess
import sys
from pathlib import Path

import pytest

import sickbay
from sickbay import demo
from sickbay.cli import main
from sickbay.problems.profiles import EVERY


def test_the_demo_finds_the_vanishing_gradient_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--epochs", "2", "--chart", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "vanishing gradient  0 +" in printed
    assert "Found: vanishing_gradient." in printed
    (finding,) = sickbay.Chart.open(tmp_path / "run").findings()
    assert (finding.problem, finding.layers[0]) == ("vanishing_gradient", "0")
    assert finding.step < 5


def test_the_demo_is_the_same_each_time() -> None:
    first, second = demo.run(epochs=1), demo.run(epochs=1)
    assert first.accuracy == second.accuracy
    assert [str(each) for each in first.findings] == [str(each) for each in second.findings]


def test_problems_lists_every_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["problems"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_explain_says_all_about_a_problem(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("Why it matters", "How it is judged", "What to try"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["explain", "vanishing"], "did you mean 'vanishing_gradient'?"),
        (["demo", "--epochs", "0"], "--epochs must be at least 1, got 0."),
        (["demo", "--chart", __file__], "test_cli.py"),
    ],
)
def test_wrong_arguments_get_one_sentence(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert expected in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["demo", "--epochs", "many"]])
def test_unknown_commands_show_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: sickbay" in capsys.readouterr().err


def test_an_interrupt_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "train_epoch", interrupt)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "sickbay: interrupted.\n"


def test_listing_and_explaining_do_not_load_torch() -> None:
    code = (
        "import sys, json; from sickbay.cli import main; main(['problems']); "
        "main(['explain', 'non_finite']); print(json.dumps('torch' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) is False


def test_the_public_names_are_what_can_be_imported() -> None:
    for name in sickbay.__all__:
        assert getattr(sickbay, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'wach'"):
        sickbay.wach  # noqa: B018
