"""The tables of the page: published figures beside ours."""

from __future__ import annotations

from math import nan
from typing import Any

from benchmarks.published.training_doctor import published
from benchmarks.published.training_doctor.component_tests import COMPONENTS
from benchmarks.published.training_doctor.published import TABLE_1
from benchmarks.report_page import Sheet, number, percent
from sickbay.problems.profiles import PROFILES
from sickbay.remedies.odds import shipped
from sickbay.remedies.suggest import ALIKE

Report = dict[str, Any]
WATCHED = ("training_doctor", "default")
GOOD = ("improving", "stable")
GRADIENTS = ("gradients_up", "gradients_down")


def losses(run: Report) -> Sheet:
    rows = []
    for text, made in run["texts"].items():
        paper = TABLE_1[text]
        for kind, name in (("train_loss", "final_train_loss"), ("val_loss", "best_val_loss")):
            theirs = [getattr(each, kind) for each in (paper.plain, paper.watched)]
            ours = [made[each][name] for each in ("plain", *WATCHED)]
            what = "final training loss" if kind == "train_loss" else "best validation loss"
            rows.append([f"{text}, {what}", *(f"{each:.3f}" for each in (*theirs, *ours))])
    columns = ("text", "paper: plain", "paper: watched", "plain", *WATCHED)
    note = "Losses in nats per character. Watching does not change them beyond rounding."
    return Sheet("Losses", note, columns, rows)


def times(run: Report) -> Sheet:
    rows = []
    for text, made in run["texts"].items():
        paper = TABLE_1[text]
        theirs = 1000 * paper.plain.seconds / paper.steps
        row = [
            text,
            f"{theirs:.2f}",
            percent(paper.overhead),
            f"{made['plain']['ms_per_step']:.2f}",
        ]
        for name in WATCHED:
            low, high = made[name]["overhead_quartiles"]
            halves = [made[name][f"overhead_{half}_half"] for half in ("first", "second")]
            row.append(
                f"{percent(made[name]['overhead'])} ({percent(low)} to {percent(high)})\n"
                f"halves: {percent(halves[0])}, {percent(halves[1])}"
            )
        rows.append(row)
    note = (
        "Milliseconds per step without watching, and what watching adds: the median over pairs of "
        "blocks, with quartiles. The halves of the run show whether the cost grows."
    )
    columns = ("text", "paper: ms", "paper: added", "ms", *(f"{name} adds" for name in WATCHED))
    return Sheet("Training time", note, columns, rows)


def writing(run: Report) -> Sheet:
    rows = [
        [
            text,
            number(TABLE_1[text].plain.tokens_per_second),
            percent(TABLE_1[text].slower_writing),
            f"{made['plain']['characters_per_second']:.0f}",
            *(percent(change(made, name)) for name in WATCHED),
            *(percent(change(made, name, "_closed")) for name in WATCHED),
        ]
        for text, made in run["texts"].items()
    ]
    note = (
        "Characters per second, one by one, in evaluation mode: without sickbay, while the model "
        "is watched, and after `doctor.close()`. The hooks of a model that was compiled stay in "
        "place until then."
    )
    closed = (f"{name}, closed" for name in WATCHED)
    columns = ("text", "paper: plain", "paper: watched", "plain", *WATCHED, *closed)
    return Sheet("Inference speed", note, columns, rows)


def change(made: Report, name: str, when: str = "") -> float:
    """Return how much faster a watched model writes, or one that was watched (`_closed`)."""
    speeds = [made[each].get(f"characters_per_second{when}", nan) for each in (name, "plain")]
    return float(speeds[0] / speeds[1] - 1)


def alarms(run: Report) -> Sheet:
    rows = []
    for text, made in run["texts"].items():
        row = [text]
        for name in WATCHED:
            found = [problem for problem, _ in made[name]["findings"]]
            kinds = ", ".join(f"{each} {found.count(each)}" for each in dict.fromkeys(found))
            shown = f"{len(found)}" + (f": {kinds}" if kinds else "")
            row += [percent(made[name]["norms_read"]), str(made[name]["in_warmup"]), shown]
        rows.append(row)
    note = (
        "Findings in the runs above, which are healthy; overfitting is no false alarm where the "
        "gap is real. The paper admits false alarms during the warm-up without counting them. Both "
        "profiles read as many gradient norms as the budget of 1 % allows; the paper's tool reads "
        "all, as `watch(..., every=1)` does."
    )
    what = ("norms read", "in warm-up", "all")
    columns = ("text", *(f"{name}, {each}" for name in WATCHED for each in what))
    return Sheet("Findings in healthy runs", note, columns, rows)


def health(run: Report) -> Sheet:
    rows = []
    theirs = published.STABLE_OR_BETTER, published.FALLING
    for title, kind, good, paper in (
        ("stable or better", "states", GOOD, theirs[0]),
        ("falling loss", "trends", ("falling",), theirs[1]),
    ):
        row = [title, percent(paper)]
        for name in WATCHED:
            seen = [each for made in run["texts"].values() for each in made[name][kind]]
            row.append(f"{percent(sum(each in good for each in seen) / len(seen))} of {len(seen)}")
        rows.append(row)
    note = "`doctor.health` after every validation, over all texts."
    return Sheet("Health", note, ("phases with", "paper", *WATCHED), rows)


def memory(run: Report) -> Sheet:
    rows = []
    for text, made in run["texts"].items():
        extra = [made[name]["extra_memory_mb"] for name in WATCHED]
        shown = ["not measured" if each is None else f"{each:.1f} MB" for each in extra]
        rows.append([text, f"< {published.MEMORY_MB} MB", *shown])
    note = "Memory of the GPU that a watched run holds at its peak, beyond that of the plain run."
    return Sheet("Memory", note, ("text", "paper", *WATCHED), rows)


OF_RUNS = (losses, times, writing, alarms, health, memory)


def injections(report: Report, profile: str) -> tuple[str, list[int]]:
    """Return how many injected gradients were found, and the delays."""
    judged = [report["runs"][name]["profiles"][profile] for name in GRADIENTS]
    found, made = (sum(each[key] for each in judged) for key in ("found", "put_in"))
    return f"{found} of {made}", [delay for each in judged for delay in each["delays"]]


def injected(report: Report) -> Sheet:
    rows = []
    for name in ("clean_gpt", "clean_cnn", *GRADIENTS):
        for profile, judged in report["runs"][name]["profiles"].items():
            is_faulty = name in GRADIENTS
            rows.append(
                [
                    f"{name}, {profile}",
                    "all" if is_faulty else "-",
                    published.DELAY if is_faulty else "-",
                    f"{judged['found']} of {judged['put_in']}" if is_faulty else "-",
                    str(max(judged["delays"], default="-")),
                    str(judged["false_alarms_in_warmup"]),
                    str(judged["false_alarms_later"]),
                ]
            )
    note = (
        "Gradients multiplied by 20 and by 1e-8 in a char-GPT of four layers, and the same loops "
        f"without a fault{how(report)}. [Injecting faults](../guide/inject.md) has other faults. "
        "`training_doctor` gets the loss and the gradient norm of every step, `default` what its "
        "budget allows. The paper does not count false alarms."
    )
    columns = (
        "run, profile", "paper: found", "paper: delay", "found", "highest delay",
        "false alarms in warm-up", "later",
    )  # fmt: skip
    return Sheet("Injected faults", note, columns, rows)


def how(report: Report) -> str:
    """Return the options of `python -m benchmarks.injection` that matter, "" for none."""
    about = report["about"]
    options = ["`--quick`"] if about["quick"] else []
    options += [f"`--every {about['every']}`"] if about["every"] != "auto" else []
    return f", with {' and '.join(options)}" if options else ""


def component_tests(results: Report) -> Sheet:
    rows = [
        [title, ", ".join(f"`{name}`" for name in names), ", ".join(outcomes(results, names))]
        for title, names in COMPONENTS.items()
    ]
    note = "The eight component tests of the paper, and the tests of `sickbay.checkup` for each."
    return Sheet("Component tests", note, ("paper", "test", "the char-GPT"), rows)


def outcomes(results: Report, names: tuple[str, ...]) -> list[str]:
    return [results[name]["outcome"] for name in names]


def passed(results: Report) -> str:
    """Return how many of the eight passed."""
    good = [set(outcomes(results, names)) <= {"passed"} for names in COMPONENTS.values()]
    return f"{sum(good)} of {len(good)}"


def suggestions() -> Sheet:
    note = (
        "What the profile suggests at the first and at the third finding within 50 steps. The "
        "confidence is the paper's, which it does not explain. The odds are how often the same "
        "change cured the problems of ours that are most alike, from `python -m benchmarks.repair "
        "--odds count`. The paper names no amounts for repetitions, and no suggestion for a "
        "plateau or a loss that explodes: these are ours."
    )
    rows = []
    for problem in PROFILES["training_doctor"]:
        name, first, third = problem.name(), problem.suggest(1), problem.suggest(3)
        stated = ["-" if each.confidence is None else f"{each.confidence:g}" for each in first]
        counted = [measured(name, each.remedy) for each in first]
        codes = ([f"`{each.code}`" for each in found] for found in (first, third))
        start, end = map("\n".join, codes)
        rows.append([name, start, "\n".join(stated), "\n".join(counted), end])
    return Sheet("Suggestions", note, ("problem", "first", "confidence", "odds", "third"), rows)


def measured(problem: str, key: str) -> str:
    """Return the shipped odds of a remedy for the problems that are most alike."""
    counts = shipped().get("counts", {})
    known = [
        (name, *counts[name][key])
        for name in (problem, *ALIKE.get(problem, ()))
        if key in counts.get(name, {})
    ]
    return ", ".join(f"{worked} of {tried} ({name})" for name, worked, tried in known) or "-"
