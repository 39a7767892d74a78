"""Configs and options of `sickbay fit`: what cannot be used gets one sentence."""

import json
import re
from pathlib import Path

import pytest

from sickbay.cli import main
from sickbay.problems import DyingRelu
from sickbay.problems.published import autotrainer
from sickbay.repairs import AutoTrainer
from sickbay.repairs.config import SETTINGS, from_names, read_config

pytestmark = pytest.mark.usefixtures("own_module")

CONFIGS = {
    "a-list": ("[1]", "The config '{}' must be a JSON object, got [1]."),
    "no-json": ("{", "'{}' cannot be read: it is not JSON"),
    "unknown": (
        '{"epoch": 3}',
        "There is no setting in '{}' called 'epoch'; did you mean 'epochs'?",
    ),
    "an-object": ('{"loss": 3}', "'loss' must come from the function, got it in '{}'."),
    "a-wrong-value": ('{"epochs": "3"}', "epochs must be a whole number of at least 1, got '3'."),
    "nan": ('{"target": NaN}', "target must be a number, got nan."),
    "no-remedy": ('{"remedies": [{"name": "x"}]}', "There is no remedy 'x'."),
    "a-remedy-without-a-name": (
        '{"remedies": [{"to": "x"}]}',
        "A remedy with settings must be an object with a name, got {{'to': 'x'}}.",
    ),
    "a-setting-of-a-remedy": (
        '{"remedies": [{"name": "clip_norm", "limits": 2}]}',
        "There is no setting of clip_norm called 'limits'; did you mean 'limit'?",
    ),
    "a-value-of-a-remedy": (
        '{"remedies": [{"name": "clip_norm", "limit": -2}]}',
        "limit must be ",
    ),
    "no-strategy": ('{"strategy": {"name": "x"}}', "There is no strategy 'x'."),
    "a-setting-of-a-strategy": (
        '{"strategy": {"name": "autotrainer", "check": 2}}',
        "There is no setting of autotrainer called 'check'; did you mean 'check_every'?",
    ),
    "a-strategy-without-settings": (
        '{"strategy": {"name": "race", "check_every": 2}}',
        "race has no settings, got 'check_every'.",
    ),
    "a-value-of-a-strategy": (
        '{"strategy": {"name": "autotrainer", "check_every": 0}}',
        "check_every must be a whole number of at least 1, got 0.",
    ),
    "a-strategy-without-a-name": (
        '{"strategy": {}}',
        "A strategy with settings must be an object with a name, got {{}}.",
    ),
    "a-profile-among-problems": (
        '{"problems": [{"name": "autotrainer", "share": 1}]}',
        "A problem with settings must be a single one, got 'autotrainer'.",
    ),
    "no-problem": ('{"problems": [{"name": "x"}]}', "There is no problem 'x'"),
    "a-threshold": (
        '{"problems": [{"name": "dying_relu", "shares": 1}]}',
        "There is no setting of dying_relu called 'shares'; did you mean 'share'?",
    ),
    "resume-alone": ('{"resume": true}', "--resume needs the folder of the repair to continue"),
    "resume-is-a-number": ('{"resume": 1}', "resume must be True or False, got 1."),
}


@pytest.mark.parametrize(("text", "said"), CONFIGS.values(), ids=CONFIGS)
def test_configs_that_are_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "fit.json"
    config.write_text(text)
    assert main(["fit", "mine:healthy", "--config", str(config)]) == 2
    printed = capsys.readouterr()
    assert said.format(config) in printed.err.splitlines()[-1]
    assert not printed.out


def test_an_unknown_setting_lists_what_is_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fit.json").write_text('{"lr": 3}')
    main(["fit", "mine:healthy", "--config", "fit.json"])
    printed = capsys.readouterr().err
    assert all(repr(name) in printed for name in SETTINGS)
    assert "'model'" not in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine:number"], "mine:number must return a dict with model, data, loss and optimizer"),
        (["mine:partly"], "and any other argument of sickbay.fit; got ['model']."),
        (["mine:typo"], "There is no argument of fit called 'epoch'; did you mean 'epochs'?"),
        (["mine:raises"], "mine:raises raised KeyError: 'mine' (at "),
        (["mine:nothing"], "There is no name in mine called 'nothing'."),
        (["mine"], "A function must be named as package.module:function, got 'mine'."),
        (["mine:healthy", "--epochs", "0"], "epochs must be a whole number of at least 1, got 0."),
        (["mine:healthy", "--metric", "x"], "There is no metric 'x'. Possible: 'accuracy'"),
        (["mine:healthy", "--strategy", "x"], "There is no strategy 'x'"),
        (["mine:healthy", "--profile", "x"], "There is no profile 'x'"),
        (["mine:healthy", "--remedies", "x,warm_up"], "There is no remedy 'x'"),
        (["mine:healthy", "--workers", "0"], "workers must be a number from 1 on"),
        (["mine:healthy", "--workers", "x"], "workers must be a number from 1 on"),
        (["mine:healthy", "--device", "x"], "device must be one that torch can use here"),
        (["mine:healthy", "--resume"], "--resume needs the folder"),
        (["mine:healthy", "--save", "."], "--save must be a file, got the folder "),
        (["mine:healthy", "--save", "no/such/file"], "cannot be written: No such file"),
        (["mine:healthy", "--save", ""], "--save must be a path"),
        (["mine:healthy", "--chart", "mine.py"], "chart must be a folder to write in, got "),
        (["mine:healthy", "--config", "none.json"], "none.json' cannot be read: No such file"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_wrong_arguments_get_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err.splitlines()[-1]
    assert printed.err.splitlines()[-1].startswith("sickbay: ")
    assert not printed.out


def test_every_option_is_a_setting_or_about_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    help_ = capsys.readouterr().out
    named = {word.strip(",") for word in help_.split() if word.startswith("--")}
    known = {f"--{name.replace('_', '-')}" for name in SETTINGS}
    assert named - known == {"--help", "--config", "--save", "--json", "--quiet"}


def test_a_strategy_and_problems_have_their_settings() -> None:
    strategy = {"name": "autotrainer", "check_every": 2, "accuracy": 0.6}
    problems = ["non_finite", {"name": "dying_relu", "share": 0.8}, {"name": "slow_convergence"}]
    made = from_names({"strategy": strategy, "problems": problems})
    assert made["strategy"] == AutoTrainer(check_every=2, accuracy=0.6)
    name, dying, slow = made["problems"]
    assert name == "non_finite"
    assert (type(dying), dying.share) == (autotrainer.DyingRelu, 0.8)
    assert (type(slow), slow.accuracy) == (autotrainer.SlowConvergence, 0.6)
    [other] = from_names({"problems": problems[1:2]})["problems"]
    assert type(other) is DyingRelu  # the rule of the strategy's own profile


def test_problems_are_those_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    few = "mine:sick", "--epochs", "2", "--json", "--quiet"
    main(["fit", *few, "--problems", "non_finite,bad_targets"])
    assert json.loads(capsys.readouterr().out)["findings"] == []
    main(["fit", *few, "--problems", "vanishing_gradient"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["problem"] for each in found} == {"vanishing_gradient"}


def test_the_config_of_the_guide_can_be_used(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "repair.md").read_text()
    [text] = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "fit.json").write_text(text)
    made = from_names(read_config(tmp_path / "fit.json"))
    assert made["strategy"].check_every == 2
    assert made["remedies"][1].limit == 2.0
