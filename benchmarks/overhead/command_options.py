"""The command line of `python -m benchmarks.overhead`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.command_line import (
    check_file,
    new_parser,
)
from benchmarks.overhead.long_run import CHUNK
from benchmarks.overhead.watchers import OWN, PLAIN, RIVALS
from benchmarks.overhead.workloads import WORKLOADS


def arguments(args: Sequence[str] | None, description: str) -> argparse.Namespace:
    parser = new_parser("overhead", description)
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the results to FILE")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument("--only", metavar="WORKLOAD", choices=WORKLOADS, help=", ".join(WORKLOADS))
    parser.add_argument("--variants", metavar="A,B", help=f"some of: {', '.join((*OWN, *RIVALS))}")
    parser.add_argument("--no-rivals", action="store_true", help="leave out the other tools")
    parser.add_argument("--long", action="store_true", help="only a long run of the mlp")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where to train (cpu)"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="steps of the long run (100,000)")
    given = parser.parse_args(args)
    if given.steps is None:
        given.steps = 10_000 if given.quick else 100_000
    elif not given.long:
        parser.error("--steps needs --long.")
    check(parser, given)
    return given


def check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Check the arguments and look up the variants."""
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda needs a GPU that torch can use.")
    if given.device == "cuda" and (given.only or given.variants or given.no_rivals or given.long):
        parser.error("--device cuda accepts only --quick and --json.")
    if given.long and (given.only or given.variants or given.no_rivals):
        parser.error("--long accepts only --steps, --quick and --json.")
    if given.steps < 3 * CHUNK or given.steps % CHUNK:
        rule = f"a multiple of {CHUNK}, at least {3 * CHUNK}"
        parser.error(f"--steps must be {rule}, got {given.steps}.")
    check_file(parser, "json", given.json)
    possible = OWN if given.no_rivals else {**OWN, **RIVALS}
    chosen = possible if given.variants is None else given.variants.split(",")
    for name in chosen:
        if name not in possible and name not in PLAIN:
            parser.error(f"--variants must be some of {', '.join(possible)}, got {name!r}.")
    given.makes = {**PLAIN, **{name: possible[name] for name in chosen if name not in PLAIN}}
