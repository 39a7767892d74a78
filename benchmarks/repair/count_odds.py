"""Try every remedy separately, to count the shipped odds or to check them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from benchmarks.repair.repair_cases import PUBLISHED, PreparedRun, RepairCase, prepare_run
from benchmarks.repair.repair_run import NEAR, Record, data_of, number, train_unrepaired
from benchmarks.report_page import Sheet
from sickbay.errors import Declined
from sickbay.problems.profiles import PROFILES
from sickbay.recipe import Recipe
from sickbay.remedies.by_problem import CHOICES
from sickbay.remedies.odds import odds
from sickbay.repairs.data import Data
from sickbay.repairs.fit import with_data
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import TrainingLoop

Counts = dict[str, dict[str, list[int]]]  # by problem, by remedy: worked, tried
LIMIT = 0.15


def try_each_remedy(case: RepairCase) -> Record:
    """Train a run once with each remedy for the first problem found in it."""
    made = prepare_run(case.plan, case.seed, case.folder)
    data = data_of(made, case)
    known = with_data(made.recipe, data)
    epochs = made.recipe.epochs or 1
    terms = RunSettings(
        problems=PROFILES["default"], treatable=CHOICES.keys(), epochs=epochs, seed=case.seed
    )
    plain = TrainingLoop(known, data, terms)
    report = plain.advance(epochs)
    plain.close()
    record: Record = {"name": case.name, "problem": case.problem, "seed": case.seed}
    record |= {"found": "", "tried": {}}
    if report.finding is None:
        return record
    twin = (
        train_unrepaired(prepare_run(case.twin, case.seed, case.folder), case) if case.twin else {}
    )
    record |= {"found": report.finding.problem, "twin": twin.get("score")}
    known = replace(known, setup=report.setup)
    for remedy in CHOICES.get(report.finding.problem, ()):
        try:
            recipe = remedy.prescribe(report.finding, known)
        except Declined as reason:
            record["tried"][remedy.key] = {"declined": str(reason)}
            continue
        if recipe is not None and remedy.between_runs:
            start = plain.healthy if remedy.keeps_weights else None
            record["tried"][remedy.key] = train_with_remedy(recipe, data, terms, made, start, twin)
    return record


def train_with_remedy(
    recipe: Recipe, data: Data, terms: RunSettings, made: PreparedRun, start: Any, twin: Record
) -> Record:
    """Train with one remedy. Return the score and whether the remedy worked."""
    training = TrainingLoop(recipe, data, terms, start)
    report = training.advance(terms.epochs)
    training.close()
    model = training.live.model
    model.load_state_dict(training.best)
    score = number(made.score(model, recipe))
    near = not twin or score >= twin["score"] - NEAR
    again = report.finding.problem if report.finding else report.failed
    return {"score": score, "worked": report.healthy and near, "again": again}


def count(records: Sequence[Record]) -> Counts:
    """Return how often each remedy worked and was tried, by problem found."""
    counts: Counts = {}
    for record, remedy, worked in trials(records):
        pair = counts.setdefault(record["found"], {}).setdefault(remedy, [0, 0])
        pair[0] += worked
        pair[1] += 1
    return counts


def trials(records: Sequence[Record]) -> list[tuple[Record, str, bool]]:
    """Return every remedy that was tried, with its run and whether it worked."""
    return [
        (record, remedy, result["worked"])
        for record in records
        for remedy, result in record["tried"].items()
        if "worked" in result
    ]


def table(
    records: Sequence[Record], about: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the table that the package ships. New counts replace those in `before`."""
    runs = sum(bool(record["tried"]) for record in records)
    made = {**about, "runs": runs, "half": "calibration, every second"}
    earlier, kept = (before["about"], before["counts"]) if before else ([], {})
    return {"about": [*earlier, made], "counts": {**kept, **count(records)}}


def sheets(records: Sequence[Record]) -> list[Sheet]:
    """Return tables that compare the shipped odds with runs they were not counted on."""
    rows = [
        [problem, remedy, f"{stated(problem, remedy):.2f}", f"{worked} of {tried}"]
        for problem, remedies in sorted(count(records).items())
        for remedy, (worked, tried) in sorted(remedies.items())
    ]
    note = (
        "Every remedy alone, for a whole training run, "
        "on runs that were not used to count the odds."
    )
    return [
        Sheet("Each remedy alone", note, ("found", "remedy", "odds", "worked"), rows),
        brier_sheet(records),
    ]


def brier_sheet(records: Sequence[Record]) -> Sheet:
    """Return Brier scores of our odds, of the paper's, and of one constant."""
    made = trials(records)
    ours = [(stated(record["found"], remedy), worked) for record, remedy, worked in made]
    fixed = [(published(record["problem"]), worked) for record, _, worked in made]
    share = mean(worked for _, _, worked in made)
    rows = [
        ["the stated odds", brier(ours), f"at most {LIMIT}"],
        ["the paper's fixed numbers", brier(fixed), ""],
        [
            "the share that worked, for every remedy",
            brier([(share, worked) for _, worked in ours]),
            "",
        ],
    ]
    note = f"Brier scores over {len(made)} trials. Lower is better."
    return Sheet("Accuracy of the odds", note, ("odds", "Brier score", "limit"), rows)


def stated(problem: str, key: str) -> float:
    """Return the shipped odds of a remedy."""
    remedies = {each.key: each for each in CHOICES.get(problem, ())}
    return odds(problem, remedies[key]).mean if key in remedies else 0.0


def published(problem: str) -> float:
    """Return the share of a problem that the paper reports as repaired."""
    worked, tried = PUBLISHED[problem]
    return worked / tried


def brier(pairs: Sequence[tuple[float, bool]]) -> str:
    return f"{mean((odds - worked) ** 2 for odds, worked in pairs):.3f}"
