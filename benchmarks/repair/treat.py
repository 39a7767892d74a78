"""What becomes of one patient: left alone, its healthy twin, and repaired."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from time import perf_counter
from typing import Any

from benchmarks.detection.judge import ACCEPTED
from benchmarks.repair.patient import Patient, Ready, ready
from sickbay.errors import Declined
from sickbay.problems.profiles import PROFILES
from sickbay.recipe import Recipe
from sickbay.remedies.choices import CHOICES
from sickbay.remedies.odds import odds
from sickbay.repairs.data import Data
from sickbay.repairs.fit import Strategy, informed, repair
from sickbay.repairs.training import Terms, Training

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
    terms = Terms(problems=(), treatable=(), epochs=made.recipe.epochs or 1, seed=patient.seed)
    start = perf_counter()
    training = Training(made.recipe, data, terms)
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
        "stated": stated(won[0].problem, won[0].remedy) if won else None,
        "changed": outcome.recipe is not outcome.original and outcome.diff != "no change",
        "diff": outcome.diff,
    }


def stated(problem: str, key: str) -> float | None:
    """Return the odds that a remedy is said to have."""
    remedies = {each.key: each for each in CHOICES.get(problem, ())}
    return odds(problem, remedies[key]).mean if key in remedies else None


def each_remedy(patient: Patient) -> Record:
    """Try every remedy for what is found, each by itself, for a whole training."""
    made = ready(patient.plan, patient.seed, patient.folder)
    data = data_of(made, patient)
    known = informed(made.recipe, data)
    epochs = made.recipe.epochs or 1
    terms = Terms(
        problems=PROFILES["default"], treatable=CHOICES.keys(), epochs=epochs, seed=patient.seed
    )
    plain = Training(known, data, terms)
    report = plain.advance(epochs)
    plain.close()
    record: Record = {"name": patient.name, "problem": patient.problem, "seed": patient.seed}
    record |= {"found": "", "tried": {}}
    if report.finding is None:
        return record
    twin = alone(ready(patient.twin, patient.seed, patient.folder), patient) if patient.twin else {}
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
            record["tried"][remedy.key] = one(recipe, data, terms, made, start, twin)
    return record


def one(recipe: Recipe, data: Data, terms: Terms, made: Ready, start: Any, twin: Record) -> Record:
    """Train with one remedy; return the score, and whether it has worked."""
    training = Training(recipe, data, terms, start)
    report = training.advance(terms.epochs)
    training.close()
    model = training.live.model
    model.load_state_dict(training.best)
    score = number(made.score(model, recipe))
    near = not twin or score >= twin["score"] - NEAR
    again = report.finding.problem if report.finding else report.failed
    return {"score": score, "worked": report.healthy and near, "again": again}


def data_of(made: Ready, patient: Patient) -> Data:
    return Data.of(made.data, made.validation, batch_size=made.recipe.batch_size, seed=patient.seed)


def number(score: float) -> float:
    """Return a score; a model that puts out no numbers is worth nothing."""
    return -1.0 if isnan(score) else score
