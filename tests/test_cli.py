import json
import os
import re
import subprocess
import sys
import tempfile
from html import unescape
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import sickbay
from sickbay import plugins
from sickbay.cli import DEMOS, main
from sickbay.demo import command
from sickbay.demo.flawed_models import FLAWED_MODELS
from sickbay.problems.by_name import EVERY


def test_the_demo_finds_and_repairs_the_vanishing_gradient(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--epochs", "12", "--chart", str(tmp_path / "run")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "vanishing gradient 0 +" in printed
    assert re.search(r"as it was, (1.00|0.99) after the repair\.", printed)
    assert "+ model = sickbay.surgery." in printed
    assert f"recorded in {tmp_path / 'run'}" in printed
    assert f"The outcome is in {tmp_path / 'run' / 'outcome.json'}" in printed
    assert json.loads((tmp_path / "run" / "outcome.json").read_text())["solved"]
    beginning = printed.partition(" attempt 0")[0].replace(" ", "")
    assert beginning in text_of_the_picture(), "run python -m tools.draw_demo"


def text_of_the_picture() -> str:
    """Return the text on the picture of the demo that the README shows, without spaces."""
    picture = Path(__file__).parents[1] / "docs" / "pictures" / "demo.svg"
    texts = re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"))
    return "".join("".join(map(unescape, texts)).split())


def test_the_demo_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--problem", "improper_loss", "--epochs", "8", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    faults = [each["problem"] for each in result["findings"] if each["severity"] != "info"]
    assert faults == ["improper_loss"]
    assert result["solved"]
    assert result["score"] > 0.9 > result["trained_as_it_was"]


def test_the_help_names_every_demo() -> None:
    assert list(DEMOS) == list(FLAWED_MODELS)


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
    ("name", "expected"),
    [
        ("layer_imbalance", "to the smallest update.\n        10000\n"),  # in no profile
        ("non_finite", "How it is judged"),  # has no thresholds
        ("dying_relu", "\n        default 0.9\n"),
        ("dying_relu", "The rule of the profile autotrainer:"),
        ("slow_convergence", "\n        autotrainer False\n"),
        ("abnormal_data", "\n        autotrainer largest\n"),
        (
            "scale_learning_rate",
            "Settings:\n    factor  Factor to multiply the",
        ),
        ("together", "\n        draw new initial weights (LeCun, normal)\n"),
    ],
)
def test_explain_shows_every_threshold(
    name: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 0
    printed = capsys.readouterr().out
    assert expected in printed
    assert "\n        \n" not in printed


def test_problems_of_other_packages_are_listed_and_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value = "tests.problems.test_by_name:TooQuiet"
    point = EntryPoint("quiet", value, "sickbay.problems")
    monkeypatch.setattr(plugins, "_declared", {"sickbay.problems": (point,)}.get)
    assert main(["problems"]) == 0
    assert "too_quiet" in capsys.readouterr().out
    assert main(["explain", "too_quiet"]) == 0
    assert "Nothing at all is found.\n\nWhat to try:" in capsys.readouterr().out


def test_a_problem_without_advice_and_with_a_plain_field_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    point = EntryPoint("loud", "tests.problems.test_by_name:TooLoud", "sickbay.problems")
    monkeypatch.setattr(plugins, "_declared", {"sickbay.problems": (point,)}.get)
    assert main(["explain", "too_loud"]) == 0
    expected = "too_loud (warning)\n\nEverything is found.\n\nThresholds:\n    limit\n        3\n"
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["explain", "vanishing"], "did you mean 'vanishing_gradient'?"),
        (
            ["demo", "--epochs", "0"],
            "--epochs must be a whole number of at least 1",
        ),
        (["demo", "--chart", __file__], "test_cli.py"),
        (["demo", "--problem", "vanishing"], "did you mean 'vanishing_gradient'?"),
        (["demo", "--epochs", "9" * 40], "--epochs must be a whole number of at least 1"),
        (["demo", "--chart", ""], "--chart must be a path, as str or os.PathLike, got ''."),
        (["demo", "--chart", "a\0b"], "--chart must be a path"),
        (["demo", "--chart", "/dev/null/here", "--epochs", "1"], "/dev/null/here"),
        (["demo", "--inject", "nan_gradient@" + "9" * 5000], "A fault must be NAME"),
        (
            ["demo", "--inject", "nan_gradient:[/red]\x1b[31m@5", "--epochs", "1"],
            "There is no layer",
        ),
        (["explain", ""], "There is no problem, remedy or test ''."),
        (["explain", "\x1b[31m"], "There is no problem, remedy or test '\\x1b[31m'"),
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


def test_what_argparse_says_is_printable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["problems", "--\x1b[31mred"])
    assert "\x1b" not in capsys.readouterr().err


def test_no_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert main(["demo", "--epochs", "1"]) == 2
    assert "--chart must name a folder, as there is no temporary one" in capsys.readouterr().err


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["problems", "explain non_finite"])
def test_a_reader_that_goes_away_ends_it_quietly(command: str, unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = [sys.executable, "-m", "sickbay", *command.split()]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(ran, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_said_in_one_line(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        ran = [sys.executable, "-m", "sickbay", "problems"]
        done = subprocess.run(
            ran, stdout=full, stderr=subprocess.PIPE, env=environment, check=False
        )
    assert (done.returncode, done.stderr) == (2, b"sickbay: No space left on device.\n")


def test_signs_that_a_terminal_has_not(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = [sys.executable, "-m", "sickbay", "checkup", "torch.nn:Identity", "--batch", "2x2"]
    done = subprocess.run(
        ran, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "\\u2713 runs on the batch" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_bug_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(command, "repair_flawed_model", fail)
    with pytest.raises(ZeroDivisionError):
        main(["demo"])


def test_an_interrupt_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "repair_flawed_model", interrupt)
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


def test_explain_knows_remedies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "clip_norm"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("clip_norm (live)\n\nClip the norm of the gradients.")
    assert "Treats:\n    exploding_gradient, " in printed
