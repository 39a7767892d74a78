"""What becomes of one patient: left alone, its healthy twin, and repaired."""

from __future__ import annotations

from math import isnan
from time import perf_counter
from typing import Any

from benchmarks.detection.judge_runs import ACCEPTED
from benchmarks.repair.sick_runs import Patient, Ready, ready
from sickbay.repairs.data import Data
from sickbay.repairs.fit import Strategy, repair
from sickbay.repairs.training_loop import RunSettings, TrainingLoop

NEAR = 0.02  # of the healthy twin's score
Record = dict[str, Any]


def treat(patient: Patient, strategies: tuple[Strategy, ...]) -> Record:
    """Return what came of a patient by each strategy."""
    made = ready(patient.plan, patient.seed, patient.folder)
    plain = alone(made, patient)
    record: Record = {
        "name": patient.name,
        "problem": patient.problem,
        "seed": patient.seed,
        "epochs": made.recipe.epochs,
        "plain": plain,
        "twin": None,
    }
    if patient.twin is not None:
        record["twin"] = alone(ready(patient.twin, patient.seed, patient.folder), patient)
    for strategy in strategies if patient.problem else strategies[:1]:
        record[strategy] = by(strategy, made, patient, record)
    return record


def alone(made: Ready, patient: Patient) -> Record:
    """Train without looking; return the score and the seconds."""
    data = data_of(made, patient)
    terms = RunSettings(
        problems=(), treatable=(), epochs=made.recipe.epochs or 1, seed=patient.seed
    )
    start = perf_counter()
    training = TrainingLoop(made.recipe, data, terms)
    report = training.advance(terms.epochs)
    training.close()
    model = training.live.model
    return {
        "score": number(made.score(model, made.recipe)),
        "seconds": perf_counter() - start,
        "failed": report.failed,
    }


def by(strategy: Strategy, made: Ready, patient: Patient, record: Record) -> Record:
    """Repair by a strategy; return what came of it."""
    start = perf_counter()
    outcome = repair(
        made.recipe,
        made.data,
        validation=made.validation,
        strategy=strategy,
        seed=patient.seed,
        progress=False,
    )
    after = number(made.score(outcome.model, outcome.recipe))
    names = [each.problem for each in outcome.findings]
    first = outcome.attempts[0].result
    right = {patient.problem, *ACCEPTED.get(patient.problem, ())}
    twin = record["twin"]["score"] if record["twin"] else record["plain"]["score"]
    won = [each for each in outcome.attempts if each.remedy and each.result == "healthy"]
    return {
        "found": names[:1],
        "all_found": names,
        "detected": first in right,
        "solved": outcome.solved,
        "score": after,
        "repaired": outcome.solved and after >= twin - NEAR,
        "epochs": outcome.epochs,
        "extra": outcome.epochs / record["epochs"] - 1,
        "seconds": perf_counter() - start,
        "attempts": [str(each) for each in outcome.attempts],
        "remedies": [each.remedy for each in won],
        "changed": outcome.recipe is not outcome.original and outcome.diff != "no change",
        "diff": outcome.diff,
    }


def data_of(made: Ready, patient: Patient) -> Data:
    return Data.of(made.data, made.validation, batch_size=made.recipe.batch_size, seed=patient.seed)


def number(score: float) -> float:
    """Return a score; a model that puts out no numbers is worth nothing."""
    return -1.0 if isnan(score) else score
