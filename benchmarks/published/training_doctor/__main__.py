"""Repeat the experiments of the Training Doctor paper.

`run` trains the paper's char-GPT on its four texts, plain and watched, and writes JSON:

    python -m benchmarks.published.training_doctor run --data DIR --json FILE [--steps N] [--quick]

DIR holds tinyshakespeare.txt, enwik8_first4MB.txt.gz, gutenberg_moby_dick.txt.gz and
gutenberg_war_and_peace.txt.gz; text8 is made from enwik8. On a GPU the model is compiled and trains
in bf16. Without one, use --quick, which trains a small model for a few steps.

It needs only torch and numpy. `components` runs the paper's eight component tests, and `page`
writes the documentation from the JSON of both and of `python -m benchmarks.injection`:

    python -m benchmarks.published.training_doctor components --data DIR --json FILE [--quick]
    python -m benchmarks.published.training_doctor page --run FILE --components FILE
        --injection FILE --double FILE --out FILE
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.published.training_doctor.texts import BOOKS, ENWIK8, SHAKESPEARE, TEXTS, load
from benchmarks.published.training_doctor.watched_runs import (
    QUICK,
    SEED,
    VARIANTS,
    Plan,
    machine,
    train_in_turns,
)

FILES = (SHAKESPEARE, ENWIK8, *BOOKS)
REPORTS = ("run", "components", "injection", "double")
FEWEST = 5  # blocks in a run: the first two compile, and the others are compared


def run(given: argparse.Namespace) -> int:
    """Train on every text; write the JSON after each, so that an end in between loses little."""
    device = torch.device(given.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = True
    plan = QUICK if given.quick else Plan()
    plan = replace(plan, steps=given.steps or plan.steps)
    command = (
        "python -m benchmarks.published.training_doctor run --data DIR" + " --quick" * given.quick
    )
    about = {"command": f"{command} --steps {plan.steps}", "seed": SEED, **machine(device)}
    report: dict[str, Any] = {"about": about, "plan": asdict(plan), "texts": {}}
    for text in given.only or TEXTS:
        train, validation = load(text, given.data)
        done = Progress(text, len(VARIANTS) * (plan.steps // plan.block))
        data = train.to(device), validation.to(device)
        report["texts"][text] = train_in_turns(text, data, plan, done.tick)
        given.json.write_text(json.dumps(report, indent=1) + "\n")
        print(summary(text, report["texts"][text]), flush=True)
    return 0


def summary(text: str, made: dict[str, Any]) -> str:
    """Return the figures of a text in a line for each variant."""
    return "\n".join(
        f"{text:17} {name:16} loss {each['final_train_loss']:.3f} "
        f"val {each['best_val_loss']:.3f}  {each['ms_per_step']:.2f} ms/step "
        f"({each.get('overhead', 0):+.1%})  {each['characters_per_second']:.0f} characters/s  "
        f"{len(each.get('findings', ()))} findings"
        for name, each in made.items()
        if name in VARIANTS
    )


class Progress:
    """Counts blocks on stderr."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0

    def tick(self) -> None:
        self._done += 1
        end = "\n" if self._done == self._total else "\r"
        print(f"{self._name}: {self._done}/{self._total}", end=end, file=sys.stderr, flush=True)


def components(given: argparse.Namespace) -> int:
    """Examine the model before training."""
    from benchmarks.published.training_doctor.component_tests import examine  # needs rich

    torch.set_num_threads(1)
    train, _ = load("shakespeare_char", given.data)
    results = examine(train, QUICK if given.quick else Plan())
    given.json.write_text(json.dumps(results, indent=1) + "\n")
    for name, each in results.items():
        print(f"{each['outcome']:8} {name}: {each['message']}")
    return 0


def page(given: argparse.Namespace) -> int:
    """Write the page."""
    from benchmarks.published.training_doctor.page import write_page  # needs rich

    reports = {name: json.loads(getattr(given, name).read_text()) for name in REPORTS}
    given.out.write_text(write_page(**reports))
    return 0


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published.training_doctor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="train on the four texts")
    tests = commands.add_parser("components", help="examine the model before training")
    for each in (runs, tests):
        each.add_argument("--data", metavar="DIR", type=Path, required=True)
        each.add_argument("--json", metavar="FILE", type=Path, required=True)
        each.add_argument("--quick", action="store_true", help="a small model and few steps")
    tests.set_defaults(command=components)
    runs.add_argument("--steps", metavar="N", type=int, help=f"steps of a run ({Plan.steps})")
    runs.add_argument("--only", metavar="NAME", choices=TEXTS, action="append")
    best = "cuda" if torch.cuda.is_available() else "cpu"
    runs.add_argument("--device", choices=("cpu", "cuda"), default=best, help=f"({best})")
    runs.set_defaults(command=run)
    pages = commands.add_parser("page", help="write the documentation")
    for name in (*REPORTS, "out"):
        pages.add_argument(f"--{name}", metavar="FILE", type=Path, required=True)
    pages.set_defaults(command=page)
    given = parser.parse_args(args)
    if given.command is not page:
        check(parser, given)
    return given


def check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """End with an error if the run cannot be made."""
    missing = [name for name in FILES if not (given.data / name).is_file()]
    if missing:
        parser.error(f"--data must be a folder with {', '.join(FILES)}; missing: {missing[0]}.")
    if given.command is not run or given.steps is None:
        return
    plan = QUICK if given.quick else Plan()
    least = max(FEWEST * plan.block, plan.validate)
    if given.steps < least or given.steps % plan.block:
        rule = f"a multiple of {plan.block}, at least {least}"
        parser.error(f"--steps must be {rule}, got {given.steps}.")


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    code: int = given.command(given)
    return code


if __name__ == "__main__":
    sys.exit(main())
