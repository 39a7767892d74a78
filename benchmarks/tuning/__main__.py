"""How much ending sick trials helps a hyperparameter search."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track

from benchmarks.tuning.command_options import POOLS, add_live, add_published, add_run
from benchmarks.tuning.pool import Pool, load, read_pool, save
from benchmarks.tuning.record_pool import Plan, record
from benchmarks.tuning.tasks import TASKS
from sickbay.cli import add_replay_options
from sickbay.errors import UsageError
from sickbay.tuning import replay_command


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    options.command(options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    recording = commands.add_parser(
        "record", help="train configurations to the end and store them as a pool"
    )
    recording.add_argument("task", choices=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    recording.add_argument("--data", type=Path, required=True, help="folder of the datasets")
    recording.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    recording.add_argument(
        "--configs", type=int, default=400, help="number of configurations (default: 400)"
    )
    recording.add_argument("--first", type=int, default=0, help="seed of the first (default: 0)")
    recording.add_argument(
        "--epochs", type=int, default=20, help="epochs of each trial (default: 20)"
    )
    recording.add_argument("--samples", type=int, help="training samples (default: all)")
    recording.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    recording.add_argument(
        "--seconds", type=float, help="stop after this time, and keep what is finished"
    )
    recording.add_argument(
        "--out", type=Path, help="file to write or extend (default: in the folder pools)"
    )
    recording.set_defaults(command=_record)
    add_run(commands)
    add_live(commands)
    add_published(commands)
    replaying = commands.add_parser("replay", help="run `sickbay replay` on pools")
    add_replay_options(replaying)
    replaying.set_defaults(command=_replay)
    return parser


def _replay(options: argparse.Namespace) -> None:
    try:
        replay_command.run(options, read_pool)
    except UsageError as error:
        raise SystemExit(f"replay: {error}") from None


def _record(options: argparse.Namespace) -> None:
    plan = Plan(options.task, options.data, options.device, options.epochs, options.samples)
    path = options.out or POOLS / f"{options.task}.zip"
    known = {each.about["seed"]: each for each in load(path).trials} if path.exists() else {}
    wanted = range(options.first, options.first + options.configs)
    seeds = [seed for seed in wanted if seed not in known]
    done = record(plan, seeds, options.workers, options.seconds)
    console = Console(stderr=True)
    for trial in track(done, options.task, total=len(seeds), console=console):
        known[trial.about["seed"]] = trial
    trials = [known[seed] for seed in sorted(known)]
    on = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    about = {"device": on, "torch": torch.__version__, "epochs": plan.epochs}
    about |= {"samples": plan.samples, "workers": options.workers}
    about |= {"metric": TASKS[options.task].metric, "direction": TASKS[options.task].direction}
    save(Pool(options.task, about, trials), path)
    print(f"{len(trials)} configurations in {path}")


if __name__ == "__main__":
    sys.exit(main())
