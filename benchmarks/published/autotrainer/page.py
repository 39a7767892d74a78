"""Write the page with all tables and the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import write_at_once
from benchmarks.published.autotrainer import tables, tables_of_solutions, tables_of_training
from benchmarks.published.autotrainer.data_sets import EXPECTED, SAMPLES
from benchmarks.published.autotrainer.figures import Result, Results, curves
from benchmarks.published.autotrainer.tables import NAMES
from benchmarks.published.autotrainer.threshold_plot import draw
from benchmarks.report_page import page_head

TITLE = "AutoTrainer, redone"
QUESTION = (
    "How sickbay's strategies `autotrainer` and `race` do what Zhang et al. report of AutoTrainer "
    "(*An Automated Monitoring and Repairing System for DNN Training*): published figures, the "
    "strategy as published, and our own, side by side."
)
DIFFERENCES = """\
## What differs

- **Models.** The paper collected 701 models from the web and from experts. These are about 200 of
  the same kinds: fully connected networks with 7 to 19 layers on Circle and Blob, two convolutions
  and 3 or more fully connected layers on MNIST and CIFAR-10, two LSTM layers and 3 or more fully
  connected ones on IMDB and Reuters. Each faulty model is a sound one with one change: of the
  activation, the initialiser, the learning rate, the optimizer, the loss, the output or the data.
- **Data.** Circle and Blob are drawn by generators of our own. Of the other data sets we use few
  samples ({samples}), and the first 40 words of each text. Trainings take 15 to 40 epochs. So
  accuracies are lower than in the paper.
- **Sick.** As in the paper, a model has a problem if its training accuracy never exceeds what the
  user expects ({expected}), or, for OL, if it swings as the rule says. Faulty models that learn
  all the same are left out, and so are sound ones that do not learn: {left_out} of {models} here.
- **Found, named and repaired.** A model is found sick if its training as given is stopped, and
  repaired if the strategy then ends with a training in which nothing is found. The paper's authors
  verified by hand what each model has; here, its fault says so.
- **Accuracy** is measured on held-out samples that neither training nor repair has seen. The paper
  compares with the same samples that training validates on.
- **Chosen faults.** The faults were made stronger until the models showed them, with other seeds
  than those reported here. That favours detection, most of all of OL, whose models were chosen by
  how far their accuracy swings.
- **Repetitions.** Each model is trained once. The paper takes the mean of 3 to 5 trainings.
- **PyTorch.** `CrossEntropyLoss` and `BCEWithLogitsLoss` apply the output activation themselves, so
  an improper output is one that comes on top of it.
- **Machine.** One thread of a CPU for each training; the paper used a GPU.
"""


def page(about: Mapping[str, Any], results: Sequence[Result], picture: str) -> str:
    """Return the page as Markdown."""
    done = Results.of(results)
    first = tables.overview(done)
    sheets = [
        first,
        tables.by_problem(done),
        tables.by_data_set(done),
        tables_of_solutions.by_solution(done),
        tables.gains(done),
        tables.delay(done),
        *tables_of_solutions.alone(done),
        tables_of_training.thresholds(done),
        tables_of_training.time_by_interval(done),
        tables_of_training.memory(done),
        *tables_of_training.randomness(done),
        tables_of_training.frequency(done),
    ]
    source = f"`{about['command']}` and `... render FILE`"
    machine = f"torch {about['torch']}, {about['cores']} cores, {len(results)} results"
    head = page_head(TITLE, QUESTION, f"{source} ({machine})", summary(first.rows))
    parts = [head, differences(done), *(sheet.markdown() for sheet in sheets)]
    plot = f"![Precision and recall against each threshold]({picture})\n"
    place = next(n for n, part in enumerate(parts) if part.startswith("## Thresholds"))
    parts.insert(place + 1, plot)
    return "\n".join([*parts, excluded(done)])


def summary(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return five lines of the first table as sentences."""
    wanted = (
        "sick models found sick", "sound models found sick",
        "models repaired, of those found sick", "accuracy before and after, %",
        "more time than a training, mean",
    )  # fmt: skip
    known = {row[0]: row[1:] for row in rows}
    return [
        f"{name[0].upper()}{name[1:]}: published {known[name][0]}, `autotrainer` {known[name][1]}, "
        f"`race` {known[name][2]}."
        for name in wanted
    ]


def differences(done: Results) -> str:
    samples = ", ".join(f"{NAMES[name]} {count}" for name, count in SAMPLES.items())
    expected = ", ".join(f"{NAMES[name]} {value:g}" for name, value in EXPECTED.items())
    left_out, models = len(done.left_out), len(done.records)
    return DIFFERENCES.format(samples=samples, expected=expected, left_out=left_out, models=models)


def excluded(done: Results) -> str:
    """Return what the tables leave out."""
    slow = sorted(f"{each['experiment']} {each['case']}" for each in done.too_long)
    lines = ["## Left out", "", "Models that do not show what they were built for:", ""]
    lines += [f"- `{name}`" for name in done.left_out] or ["- none"]
    lines += ["", "Jobs that were stopped because they took too long:", ""]
    lines += [f"- `{name}`" for name in slow] or ["- none"]
    return "\n".join([*lines, ""])


def write_page(path: Path, about: Mapping[str, Any], results: Sequence[Result]) -> None:
    """Write the page, and the plot beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_name(f"{path.stem}_thresholds.png")
    draw(curves(Results.of(results)), picture)
    write_at_once(path, page(about, results, picture.name))
