"""Examine the architectures of published libraries, sound and with planted faults.

Each model runs in a process of its own. With --json, results go to FILE line by line, and the
models that FILE already holds are not run again. Libraries that are not installed are left out;
`make .venv/ready-models` installs them. --check runs no checkup: it shows that the sound models
learn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from benchmarks.checkup.case import HALVES
from benchmarks.command_line import check_file, matches, new_parser, output_console, progress_bar
from benchmarks.models import soundness, tables
from benchmarks.models.all_models import Model, every
from benchmarks.models.examine_model import examine
from benchmarks.models.judge import Record
from benchmarks.programs.processes import run_each
from benchmarks.report_page import machine
from benchmarks.worker_pool import Failure

LIMIT = 300  # seconds for one model
EXAMINE, LIBRARIES = "benchmarks.models.examine_model", "benchmarks.models.import_libraries"
MANY = 8  # models for which it pays to import all libraries before
KINDS = ("sound", "faulty", "both")


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("models", __doc__)
    parser.add_argument(
        "--half", choices=(*HALVES, "both"), default="reporting", help="models to run (reporting)"
    )
    parser.add_argument("--kind", choices=KINDS, default="both", help="sound or faulty (both)")
    parser.add_argument("--only", metavar="PATTERN", default="", help="models with such a name")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="processes (1)")
    parser.add_argument("--check", action="store_true", help="only train each model a little")
    parser.add_argument("--list", action="store_true", help="only print the names of the models")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write and reuse results, by line"
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the tables as a page to FILE"
    )
    given = parser.parse_args(args)
    for name in ("json", "markdown"):
        check_file(parser, name, getattr(given, name))
    if given.workers < 1:
        parser.error(f"--workers must be at least 1, got {given.workers}.")
    given.chosen = select(given)
    if not given.chosen:
        parser.error(f"--only must match a model of --half {given.half}, got '{given.only}'.")
    return given


def select(given: argparse.Namespace) -> list[Model]:
    """Return the models that the arguments select, installed or not."""
    return [
        each
        for each in every().values()
        if given.half in ("both", each.half)
        and given.kind in ("both", "faulty" if each.fault else "sound")
        and matches(each.name, given.only)
    ]


def missing(chosen: Sequence[Model]) -> list[str]:
    """Return a sentence for each library that is not installed."""
    counts = Counter(
        each.architecture.library for each in chosen if not each.architecture.installed
    )
    return [
        f"{count} {'model' if count == 1 else 'models'} of {library}, which is not installed."
        for library, count in counts.items()
    ]


def with_progress(
    names: Sequence[str], job: Callable[[str], Any], workers: int
) -> Iterator[tuple[str, Record | Failure]]:
    """Yield each name with its result, and show how far it is."""
    with progress_bar(Console(stderr=True)) as bar:
        shown = bar.add_task("models", total=len(names))
        preloaded = [EXAMINE, LIBRARIES] if len(names) >= MANY else [EXAMINE]
        for name, result in run_each(job, names, workers, LIMIT, preloaded):
            bar.advance(shown)
            yield name, result


def held(file: Path | None, part: str) -> dict[str, Record]:
    """Return the records with a part that a file holds, by the name of the model."""
    if file is None or not file.is_file():
        return {}
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {record["name"]: record for record in records if part in record}


def show_check(records: Sequence[Record], out: Console) -> int:
    """Print the models that do not learn their batch. Return how many there are."""
    poor = [each for each in records if not soundness.learns(each)]
    for each in poor:
        losses = ", ".join(f"{loss:.4g}" for loss in each["losses"])
        out.print(f"{each['name']}: losses {losses}", soft_wrap=True)
    out.print(f"{len(records) - len(poor)} of {len(records)} models learn.")
    return len(poor)


def versions(chosen: Sequence[Model]) -> str:
    """Return the versions of what was used."""
    known = packages_distributions()
    needed = {
        name for each in chosen if each.architecture.installed for name in each.architecture.needs
    }
    libraries = {
        known[name][0]: version(known[name][0]) for name in sorted(needed) if name in known
    }
    return ", ".join(f"{name} {each}" for name, each in (machine() | libraries).items())


def command(given: argparse.Namespace) -> str:
    """Return the command without the paths of this machine."""
    parts = ["python -m benchmarks.models", f"--half {given.half}"]
    parts += [f"--kind {given.kind}"] if given.kind != "both" else []
    return " ".join([*parts, *([f"--only '{given.only}'"] if given.only else [])])


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    out = output_console()
    if given.list:
        for each in given.chosen:
            out.print(escape(each.name), highlight=False, soft_wrap=True)
        return 0
    left_out = missing(given.chosen)
    for sentence in left_out:
        out.print(f"Left out: {sentence}", highlight=False)
    names = [each.name for each in given.chosen if each.architecture.installed]
    records = held(given.json, "losses" if given.check else "results")
    waiting = [name for name in names if name not in records]
    failures: list[str] = []
    job = soundness.train_a_little if given.check else examine
    try:
        for name, result in with_progress(waiting, job, given.workers):
            if isinstance(result, Failure):
                failures.append(f"{name}: {result.why}")
                continue
            records[name] = result
            if given.json is not None:
                with given.json.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(result) + "\n")
    except KeyboardInterrupt:
        out.print(f"Interrupted. These results cover {len(records)} of {len(names)} models.")
    ordered = [records[name] for name in names if name in records]
    for line in failures:
        out.print(f"[red]failed[/] {escape(line)}", soft_wrap=True)
    if given.check:
        return 1 if show_check(ordered, out) or failures else 0
    if not ordered:
        return 1
    made = tables.sheets(ordered)
    for sheet in made:
        sheet.show(out)
    if given.markdown is not None:
        about: dict[str, Any] = {"command": command(given), "made": versions(given.chosen)}
        about |= {"missing": left_out, "failures": failures}
        given.markdown.write_text(tables.page(made, about), encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
