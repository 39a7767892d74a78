"""Measure which faults each profile finds in sick runs, and how often it warns about healthy ones.

Every run is trained once and recorded in the folder of `--runs`. Profiles judge a replay of the
recording, so judging a run again is fast. A sick run counts only if it scores worse than its twin,
the same run without the fault. Thresholds are set on runs with even seeds and reported on the
others.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console
from rich.markup import escape

from benchmarks import worker_pool
from benchmarks.command_line import output_console, write_at_once
from benchmarks.detection import report
from benchmarks.detection.case import Case
from benchmarks.detection.command_options import SMOKE, arguments, select
from benchmarks.detection.figures import Names, Row, figures, must_hold, profile_names
from benchmarks.detection.judge_runs import Run, judge_recorded
from benchmarks.detection.record_runs import cases_by_name, drafts, plan_of, record, result_of
from benchmarks.detection.train_live import compare, live, scored
from benchmarks.report_page import Sheet, machine, number
from sickbay.errors import UsageError


class Bench:
    """One execution of the benchmark."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.command = given, command_of(given)
        self.out, self.aside = output_console(), Console(stderr=True)
        self.failures: list[str] = []
        self.cases = select(list(cases_by_name(given.data).values()), given)
        self.smoke = [case for case in self.cases if case.name.startswith(SMOKE)]
        self.zoo = [case for case in self.cases if not case.name.startswith(SMOKE)]

    def go(self) -> int:
        given = self.given
        jobs: dict[str, Callable[[], None]] = {
            "list": self.list,
            "check": self.check,
            "live": self.live,
        }
        job = next((jobs[name] for name in jobs if getattr(given, name)), self.report)
        if given.sweep is not None:
            job = self.sweep
        if given.every is not None:
            job = self.every
        job()
        for line in self.failures:
            self.out.print(f"[red]failed[/] {escape(line)}", soft_wrap=True)
        return 1 if self.failures else 0

    def list(self) -> None:
        rows = []
        for case in self.cases:
            result = result_of(self.given.runs, case.name)
            state = "" if result is None else f"{result['seconds']:.1f} s"
            half = "reporting" if case.seed % 2 else "calibration"
            quick = "quick" if case.quick else ""
            rows.append([case.name, half, case.data, str(case.first), quick, state])
        columns = ("run", "half", "data", "evidence from step", "", "recorded in")
        Sheet(f"{len(rows)} runs", "", columns, rows).show(self.out)

    def check(self) -> None:
        self.record(self.zoo)
        runs = [run for case in self.zoo if (run := self.recorded(case)) is not None]
        rows = [
            [
                run.name,
                number(run.score),
                twin(run),
                "" if run.counts else "NOT SICK ENOUGH",
            ]
            for run in runs
        ]
        columns = ("run", "score", "score of the twin", "")
        similar = sum(not run.counts for run in runs)
        note = f"{similar} of {len(rows)} score about as well as their twins."
        Sheet("Scores", note, columns, rows).show(self.out)

    def report(self) -> None:
        runs, smoke = self.judged(), self.train_live(self.smoke)
        if self.given.only is not None:
            report.show_in_full([*runs, *smoke], self.out)
        else:
            self.tables(runs, smoke)
        self.write(runs, smoke, profile_names())

    def tables(self, runs: Sequence[Run], smoke: Sequence[Run]) -> None:
        names, profile = profile_names(), self.given.profile
        for half in reversed(report.HALVES):  # the most important table comes last
            mine = [run for run in runs if run.half == half]
            if mine:
                for sheet in report.sheets(figures(mine, names), half, profile):
                    sheet.show(self.out)
                report.show_lists(mine, profile, self.out)
        reported = [run for run in runs if run.half == "reporting"]
        report.must_sheet(must_hold(reported, smoke, names)).show(self.out)

    def live(self) -> None:
        if self.given.only is None:
            self.zoo = [case for case in self.zoo if case.seed % 2]
        replayed = self.judged()
        runs = scored(self.train_live([*self.zoo, *self.smoke]), replayed)
        names: Names = {"default": profile_names()["default"]}
        if self.given.only is not None:
            report.show_in_full(runs, self.out)
        else:
            found = figures([run for run in runs if not run.name.startswith(SMOKE)], names)
            report.own_sheet(found, "live, reporting", "default").show(self.out)
            report.healthy_sheet(found, "live, reporting").show(self.out)
            report.show_lists(runs, "default", self.out)
        compare(runs, replayed).show(self.out)
        self.write(runs, [], names)

    def sweep(self) -> None:
        from benchmarks.detection.threshold_sweep import moved, sweep

        moved(self.given.sweep)  # reports an unknown name before training
        self.zoo = [case for case in self.zoo if not case.seed % 2]
        self.record(self.zoo)
        figure = self.given.figure or self.given.runs / "sweep.png"
        runs = [run for case in self.zoo if (run := self.recorded(case)) is not None]
        rows, sheet = sweep(self.given.runs, runs, self.given.sweep, figure, self.out, self.aside)
        self.save({"sweep": rows}, page=f"Generated by `{self.command}`.\n\n{sheet.markdown()}")

    def every(self) -> None:
        from benchmarks.detection.delay_by_interval import every

        rows, sheet = every(self.given, self.zoo, self.out, self.aside)
        self.save({"every": rows}, page=f"Generated by `{self.command}`.\n\n{sheet.markdown()}")

    def record(self, cases: Sequence[Case]) -> None:
        """Train the runs that are not recorded yet."""
        given = self.given
        known = {case.name: result_of(given.runs, case.name) for case in cases}
        missing = [name for name, result in known.items() if result is None]
        old = [
            case.name
            for case in cases
            if (result := known[case.name]) is not None and result["plan"] != plan_of(case)
        ]
        if given.recorded:
            self.aside.print(f"{len(missing)} of {len(cases)} runs are not recorded.")
        elif given.fresh:
            self.train(list(known))
        else:
            self.train([*missing, *(old if given.outdated else ())])
        if old and not (given.fresh or given.outdated):
            shown = ", ".join(old[:3]) + (", ..." if len(old) > 3 else "")
            text = (
                f"{len(old)} recorded runs have another plan; --outdated trains them again: {shown}"
            )
            self.aside.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)

    def train(self, names: Sequence[str]) -> None:
        given = self.given
        job = partial(record, given.data, given.runs)
        try:
            for name, result in worker_pool.work(job, names, "training", self.aside):
                if isinstance(result, worker_pool.Failure):
                    self.failures.append(f"{name}: {result.why}")
        finally:
            shutil.rmtree(drafts(given.runs, os.getpid()), ignore_errors=True)

    def recorded(self, case: Case) -> Run | None:
        result = result_of(self.given.runs, case.name)
        if result is None:
            return None
        keys = ("score", "twin_score", "steps", "epochs", "seconds")
        measured = {key: result[key] for key in keys}
        return Run.of(case, troubles=tuple(result["troubles"]), **measured)

    def judged(self) -> Sequence[Run]:
        """Return the recorded runs with the findings of every profile."""
        self.record(self.zoo)
        runs = {run.name: run for case in self.zoo if (run := self.recorded(case)) is not None}
        job = partial(judge_recorded, self.given.runs)
        for run, result in worker_pool.work(job, list(runs.values()), "judging", self.aside):
            if isinstance(result, worker_pool.Failure):
                self.failures.append(f"{run.name}: {result.why}")
                del runs[run.name]
            else:
                runs[run.name] = result
        return list(runs.values())

    def train_live(self, cases: Sequence[Case]) -> Sequence[Run]:
        """Return runs trained with the default doctor."""
        runs = []
        job, names = partial(live, self.given.data), [case.name for case in cases]
        for name, result in worker_pool.work(job, names, "training live", self.aside):
            if isinstance(result, worker_pool.Failure):
                self.failures.append(f"{name}: {result.why}")
            else:
                runs.append(result)
        return sorted(runs, key=lambda run: names.index(run.name))

    def write(self, runs: Sequence[Run], smoke: Sequence[Run], names: Names) -> None:
        halves = {
            half: figures([run for run in runs if run.half == half], names)
            for half in report.HALVES
        }
        reported = [run for run in runs if run.half == "reporting"]
        checks = must_hold(reported, smoke, names)
        page = report.page(halves, checks, self.given.profile, self.command, len(runs))
        self.save({**halves, "must_hold": checks}, [*runs, *smoke], page)

    def save(self, content: Row, runs: Sequence[Run] = (), page: str = "") -> None:
        """Write the files that the arguments name."""
        about = {"command": self.command, "made_with": machine()}
        if self.given.json is not None:
            text = json.dumps(report.as_json({**about, **content}, runs), indent=1)
            write_at_once(self.given.json, text + "\n")
        if self.given.markdown is not None:
            write_at_once(self.given.markdown, page)


def command_of(given: argparse.Namespace) -> str:
    """Return the command without the paths of this machine."""
    words = ["python -m benchmarks.detection"]
    words += ["--data DIR"] if given.data else []
    words += ["--quick"] if given.quick else []
    words += [f"--half {given.half}"] if given.half != "both" else []
    words += [f"--only '{given.only}'"] if given.only else []
    words += [f"--profile {given.profile}"] if given.profile != "default" else []
    words += ["--live"] if given.live else []
    words += [" ".join(["--sweep", *given.sweep])] if given.sweep is not None else []
    words += [f"--every {given.every}"] if given.every else []
    return " ".join(words)


def twin(run: Run) -> str:
    return "none" if run.twin_score is None else number(run.twin_score)


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(__doc__ or "", args)
    try:
        return Bench(given).go()
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. Runs recorded so far are kept.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
