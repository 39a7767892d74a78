"""Run valid command lines with something wrong in them, and nonsense."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from benchmarks.fuzz import odd_modules, sound_files
from benchmarks.fuzz.damage_folder import write
from benchmarks.fuzz.fuzz_input import FuzzInput, Run
from benchmarks.fuzz.verdict import Unclean, WrongExit
from sickbay.cli import DEMOS, main
from sickbay.problems.by_name import EVERY
from sickbay.problems.profiles import PROFILES

UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
WORDS = (
    "", "x", "-", "--", "-1", "0", "1", "7", "10000000000000000000000", "nan", "1e400", "None",
    "\x1b[31m", "[/red]", "[bold]", "../x", ".", "~", "a:b", ":", "a:", ":b", "::", "a=b", "=",
    "x" * 5000, "é", "\ud800", "a b", "--json", "--list", "--help", "@", "%s", "{}", "*", "zero",
    "sqlite:///x", "sqlite://", "://", "no://such", "\n", "a\tb", "--version",
)  # fmt: skip
FACTORIES = (
    "model", "whole", "inputs", "nothing", "number", "empty", "text", "odd_part", "odd_key",
    "odd_batch", "odd_loss", "odd_task", "odd_optimizer", "odd_validation", "needs", "raises",
    "leaves", "interrupts", "recurses", "prints", "yields", "itself", "Kind", "Odd", "odd",
    "odd.x", "instance", "value", "_hidden", "model.x", "Kind.forward", "", "modle", "model.", ".x",
)  # fmt: skip
BATCHES = (
    "4x3", "4", "0", "0x3", "4x0", "4x3:2", "4x3:0", "4x3:1", "4x4:0", "x", "4x", "x4", "4x3:",
    "-4x3", "4x3:99999999999999999999", "99999999x99999999", "999999999999999999999999", "1" * 5000,
    "4x3x2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "100000x100000", "1x" * 70 + "1", "٣x٣",
)  # fmt: skip
TESTS = (
    "parameters_are_sane", "runs_on_the_batch", "inputs_are_sane", "targets_are_sane",
    "parameters_are_sane,parameters_are_sane", "parameters_are_sane,", ",", "parameters_are_san",
    "output_fits_the_loss,starts_at_chance",
)  # fmt: skip
LOSSES = (
    "torch.nn:CrossEntropyLoss", "torch.nn:MSELoss", "torch.nn.functional:mse_loss", "torch.nn:x",
    "torch:ones", "torch.nn:Linear", "math:pi", "os:getcwd", "builtins:exit", "torch.nn:Module",
)  # fmt: skip
FAULTS = (
    "nan_gradient@2", "nan_gradient", "nan_gradient@", "nan_gradient@x", "nan_gradient@-1",
    "nan_gradient:0@1", "nan_gradient:9@1", "scale_gradients*2@1", "scale_gradients*nan@1",
    "scale_gradients@1", "scale_gradients*x@1", "nan_weight=inf@0", "nan_weight=x@0", "@1", "x@1",
    "shuffle_labels@1", "shuffle_labels@1+0", "dead_layer@1", "dead_layer:0@1", "freeze_layer:@1",
    "raise_learning_rate*1e400@1", "raise_learning_rate*-1@1", "nan_batch@1+9999999999999999999999",
    "nan_gradient@1,1,1", "nan_gradient@99999999999999999999999999", "scale_inputs*0@1",
)  # fmt: skip
PARTS = ("trained", "odd_metric", "odd_callback", "odd_scheduler", "odd_data", *FACTORIES)
FIT_OPTIONS = {
    "--epochs": ("1", "0", "-1", "x", "1.5"), "--batch-size": ("4", "0", "9" * 30),
    "--target": ("0.5", "nan", "inf", "90", "x"), "--metric": ("f1", "loss", "r2", "", "x"),
    "--strategy": ("race", "autotrainer", "x"), "--profile": (*PROFILES, "x", ""),
    "--problems": ("non_finite", "dying_relu,x", "", ","),
    "--remedies": ("warm_up", "clip_norm,warm_up", ",", "", "x", "[/red]"),
    "--budget": ("1", "0", "nan", "-inf", "x"), "--workers": ("1", "0", "-2", "x", "ray x"),
    "--device": ("cpu", "cuda:99", "x", ""), "--seed": ("1", "-1", "9" * 30),
    "--chart": ("c", "", "a\0b", "x" * 300, "zero", "zero/x"),
    "--save": ("w", "", ".", "zero", "zero/x", "a\0b", "no/such/w"),
    "--config": ("config.json", "zero", ".", "", "none.json"),
}  # fmt: skip
CONFIGS = (
    "{}", "", "[]", "{", "7", '{"epochs": 1}', '{"epochs": "1"}', '{"epochs": null}', '{"x": 1}',
    '{"model": 1}', '{"remedies": "warm_up"}', '{"remedies": [7]}', '{"remedies": [{}]}',
    '{"remedies": [{"name": "clip_norm", "limit": null}]}', '{"target": 1e400}', '{"seed": true}',
    '{"resume": 1}', '{"chart": 7}', '{"workers": []}', '{"metric": {}}', "[" * 100_000, "\0",
    '{"strategy": {"name": []}}', '{"strategy": {}}', '{"problems": [{"name": 7}]}',
    '{"remedies": [{"name": [], "x": 1}]}', '{"\\u001b[31m": 1}', '{"profile": ["default"]}',
)  # fmt: skip
SETTINGS = (
    "passive_loss.spread=0.001", "no_more_gain=off", "passive_loss.spread=x", "passive_loss.x=1",
    "x.y=1", "passive_loss", "=", "passive_loss.spread=", "passive_loss.spread=nan", ".=.",
    "passive_loss.spread=1e400", "passive_loss.=1", "never_learnt.epochs=1.5", "passive_loss=on",
)  # fmt: skip


def command(arguments: Sequence[str]) -> None:
    """Run a command. Raise if its exit code or its output is wrong."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(list(arguments))
    own = [0, 1, 2] if arguments[:1] in (["checkup"], ["fit"]) else [0, 2]
    if code not in own:
        raise WrongExit(f"exit code {code}")
    found = UNCLEAN.search(said.getvalue())
    if found is not None:
        at = said.getvalue()[max(0, found.start() - 60) : found.end() + 20]
        raise Unclean(f"{found[0]!r} was printed: {at!r}")


def run(case: FuzzInput, arguments: list[str]) -> None:
    """Run a command with words replaced, removed, repeated or inserted."""
    random = case.random
    for _ in range(random.choice((0, 0, 0, 0, 0, 1, 1, 2))):
        way, at = random.randrange(6), random.randrange(len(arguments) + 1)
        if way == 0:
            arguments.insert(at, random.choice(WORDS))
        elif way == 1 and at < len(arguments):
            del arguments[at]
        elif way == 2 and at < len(arguments):
            arguments.insert(at, arguments[at])
        elif way == 3 and at < len(arguments):
            arguments[at] = random.choice(WORDS)
        elif way == 4 and at < len(arguments) and arguments[at]:
            cut = random.randrange(len(arguments[at]))
            arguments[at] = arguments[at][:cut] + arguments[at][cut + 1 :]
        else:
            random.shuffle(arguments)
    if "demo" in arguments and "--inject" not in arguments and "--epochs" not in arguments:
        arguments += ["--epochs", "1"]  # the default of 30 would train for seconds
    (case.home / "zero").symlink_to("/dev/zero")
    case.note(" ".join(each[:80] for each in arguments))
    command(arguments)


def demo(case: FuzzInput) -> None:
    random = case.random
    arguments = ["demo", "--epochs", random.choice(("1", "1", "0", "-1", "x", "1.5", ""))]
    if random.random() < 0.9:
        arguments += ["--inject", random.choice(FAULTS)]
    else:
        arguments += ["--problem", random.choice((*(f"{each}x" for each in DEMOS), "", "x"))]
    if random.random() < 0.3:
        arguments += ["--json"]
    if random.random() < 0.3:
        arguments += ["--chart", random.choice(("c", "", "a\0b", "x" * 300, "zero", "zero/x"))]
    run(case, arguments)


def checkup(case: FuzzInput) -> None:
    random = case.random
    module = random.choice(
        (
            *odd_modules.NAMES,
            *["fuzz_sound"] * 12,
            ".fuzz_sound",
            "fuzz_sound.",
            "..",
            "torch.nn",
            "no.such",
        )
    )
    arguments = ["checkup", f"{module}:{random.choice(FACTORIES)}", "--quiet"]
    arguments += ["--tests", random.choice(TESTS)]
    for option, words in (("--batch", BATCHES), ("--loss", LOSSES)):
        if random.random() < 0.4:
            arguments += [option, random.choice((*words, f"fuzz_sound:{random.choice(FACTORIES)}"))]
    if random.random() < 0.2:
        arguments += ["--task", random.choice(("multiclass", "regression", "x", "", *WORDS[:9]))]
    if random.random() < 0.3:
        arguments += [random.choice(("--json", "--sarif", "--list"))]
    if random.random() < 0.2:
        arguments += ["--fail-on", random.choice(("warning", "never", "x"))]
    run(case, arguments)


def fit(case: FuzzInput) -> None:
    random = case.random
    parts = random.choice(("trained", random.choice(PARTS)))
    config = case.home / "config.json"
    config.write_text(random.choice(CONFIGS))
    arguments = ["fit", f"fuzz_sound:{parts}", "--quiet"]
    for option in random.sample(list(FIT_OPTIONS), random.choice((0, 1, 1, 2, 3))):
        word = random.choice(FIT_OPTIONS[option])
        inside = option in ("--chart", "--save", "--config") and word not in ("", ".")
        arguments += [option, f"{case.home}/{word}" if inside else word]
    if random.random() < 0.3:
        arguments += [random.choice(("--json", "--resume"))]
    run(case, arguments)


def listing(case: FuzzInput) -> None:
    known = case.random.choice((*EVERY, "modes_differ", "x", *WORDS))
    run(case, case.random.choice((["problems"], ["explain", known], ["explain", known], [known])))


def replay(case: FuzzInput) -> None:
    random = case.random
    base = random.choice((sound_files.search, sound_files.journal))
    write(dict(base()), case.home)
    source = "study.log" if base is sound_files.journal else ""
    arguments = ["replay", str(case.home / source)]
    if random.random() < 0.5:
        arguments += ["--set", random.choice(SETTINGS)]
    if random.random() < 0.4:
        arguments += ["--profile", random.choice((*PROFILES, "tunin", ""))]
    if random.random() < 0.3:
        arguments += ["--metric", random.choice(("loss", "val_accuracy", "x", "", "val[/red]"))]
    if random.random() < 0.3:
        arguments += ["--direction", random.choice(("maximize", "minimize", "max", ""))]
    if random.random() < 0.2:
        arguments += ["--study", random.choice(("s", "x", ""))]
    if random.random() < 0.2:
        arguments += [random.choice(("--trials", "--calibrate"))]
    if random.random() < 0.2:
        file = random.choice((str(case.home / "o"), str(case.home), "", "no/such/o", "a\0b"))
        arguments += [random.choice(("--json", "--plot")), file]
    run(case, arguments)


def nonsense(case: FuzzInput) -> None:
    random = case.random
    known = (
        "demo",
        "checkup",
        "fit",
        "problems",
        "explain",
        "replay",
        "--batch",
        "--tests",
        "--set",
    )
    run(case, [random.choice((*known, *WORDS)) for _ in range(random.randrange(5))])


KINDS: dict[Run, float] = {
    demo: 15, checkup: 40, fit: 20, listing: 10, replay: 25, nonsense: 10,
}  # fmt: skip
