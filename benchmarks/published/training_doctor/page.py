"""Write `docs/published/training-doctor.md` from the JSON of the benchmarks."""

from __future__ import annotations

from math import isfinite
from statistics import median
from typing import Any

from benchmarks.injection.double_faults import sheet as double_sheet
from benchmarks.published.training_doctor import page_tables as tables
from benchmarks.published.training_doctor import published
from benchmarks.report_page import page_head, percent

Report = dict[str, Any]
WATCHED = tables.WATCHED


def write_page(run: Report, components: Report, injection: Report, double: Report) -> str:
    """Return the page."""
    source = (
        f"`{run['about']['command']}`, the command `components` of the same benchmark, "
        "`python -m benchmarks.injection --data DIR` with and without `--double`, and then "
        "`python -m benchmarks.published.training_doctor page`"
    )
    question = (
        "The Training Doctor paper trains a char-GPT on four texts, injects faults, and tests "
        "components. This page does the same with sickbay, and shows the published figure beside "
        "ours."
    )
    sheets = [
        *(make(run) for make in tables.OF_RUNS),
        tables.injected(injection),
        double_sheet(double),
        tables.component_tests(components),
        tables.suggestions(),
    ]
    head = page_head(
        "Training Doctor", question, source, summary(run, components, injection, double)
    )
    return "\n".join([head, differences(run, double), *(each.markdown() for each in sheets)])


def summary(run: Report, components: Report, injection: Report, double: Report) -> list[str]:
    """Return five lines."""
    costs = {name: [made[name]["overhead"] for made in run["texts"].values()] for name in WATCHED}
    slower, closed = (
        [tables.change(made, name, when) for made in run["texts"].values() for name in WATCHED]
        for when in ("", "_closed")
    )
    found, delays = tables.injections(injection, "training_doctor")
    ours, our_delays = tables.injections(injection, "default")
    total = double["summary"]
    return [
        "Training time: "
        + "; ".join(f"{percent(median(each))} with `{name}`" for name, each in costs.items())
        + " (median of the four texts; published: -0.1 to 10.9 %).",
        f"Inference speed: {percent(median(slower))} while the compiled model is watched"
        + (f", {percent(median(closed))} after `doctor.close()`" if isfinite(sum(closed)) else "")
        + " (median; published: -1.3 to -9.3 %).",
        f"Gradients multiplied by 20 and by 1e-8: `training_doctor` found {found}, at most "
        f"{max(delays, default=0)} steps later; `default` found {ours}, at most "
        f"{max(our_delays, default=0)} steps later (published: all, {published.DELAY} steps).",
        f"Two faults at once: both found in {total['both_found']['training_doctor']} of "
        f"{total['pairs']} pairs by `training_doctor`, in {total['both_found']['default']} by "
        f"`default`. One intervention resolved {total['resolved']['suggest']} and "
        f"{total['resolved']['treat']} (published: {percent(published.DOUBLE)} resolved).",
        f"Component tests: {tables.passed(components)} passed (published: "
        f"{percent(published.COMPONENTS_PASSED)}).",
    ]


def differences(run: Report, double: Report) -> str:
    """Return what differs from the paper's setting."""
    about, plan = run["about"], run["plan"]
    lines = [
        f"- **Machine:** {about['device']}, torch {about['torch']}; the paper names none.",
        f"- **Steps:** {plan['steps']:,} for each text and one seed. The paper trains for 5,000 to "
        "100,000 steps, so its losses are lower.",
        f"- **Batches:** {plan['batch']} samples for every text; the paper has 64, 48 and 32.",
        f"- **Model:** {plan['layers']} layers, {plan['heads']} heads, {plan['width']} wide, "
        f"context {plan['length']}: {next(iter(run['texts'].values()))['parameters']:,} "
        "parameters. The paper says 1.4 million for 6 layers, 6 heads and a width of 384, which "
        "make 10.6 million.",
        "- **Texts:** tiny Shakespeare; the first 4 MB of enwik8; text8 made from these; two books "
        "of Project Gutenberg. A token is a byte.",
        "- **Time:** plain and watched runs take turns in blocks of steps; the paper's ran one "
        "after the other.",
        "- **Double faults:** the paper describes neither its pairs nor what counts as resolved. "
        f"Ours are listed, from `python -m benchmarks.injection --double`{tables.how(double)}.",
    ]
    return "\n".join(["## What differs", "", *lines, ""])
