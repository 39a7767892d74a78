"""Calls of functions that read charts.

Vitals, tables, findings, events and histories are plain records. Sickbay creates them at every
step, so they check nothing and are not called here.
"""

from __future__ import annotations

import sickbay
from benchmarks.fuzz import sound_files
from benchmarks.fuzz.call_with_wrong_arguments import Call, Make
from benchmarks.fuzz.damage_folder import write
from benchmarks.fuzz.fuzz_input import FuzzInput
from sickbay.chart import Chart
from sickbay.vitals import Setup


def setup(_: FuzzInput) -> Call:
    return Call("Setup.of", Setup.of, (vars(sound_files.SETUP),), {}, lambda made: repr(made))


def opened(case: FuzzInput) -> Call:
    write(dict(sound_files.chart()), case.home / "c")
    return Call("Chart.open", Chart.open, (str(case.home / "c"),), {}, lambda made: made.setup)


def of_chart(case: FuzzInput) -> Call:
    write(dict(sound_files.chart()), case.home / "c")
    chart = sickbay.Chart.open(case.home / "c")
    if case.random.random() < 0.5:
        return Call("Chart.history", chart.history, (), {"window": 4})
    kwargs = {"window": 4, "tables": 2}
    return Call("Chart.replay", chart.replay, (), kwargs, lambda made: list(made))


TARGETS: dict[Make, float] = {setup: 1, opened: 3, of_chart: 3}
