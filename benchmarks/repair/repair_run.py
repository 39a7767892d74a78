"""Train one run unchanged, its healthy twin, and the run with repairs."""

from __future__ import annotations

from math import isnan
from time import perf_counter
from typing import Any

from benchmarks.detection.judge_runs import ACCEPTED
from benchmarks.repair.repair_cases import PreparedRun, RepairCase, prepare_run
from sickbay.repairs.data import Data
from sickbay.repairs.fit import repair
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.strategy import StrategyName
from sickbay.repairs.training_loop import TrainingLoop

NEAR = 0.02  # of the healthy twin's score
Record = dict[str, Any]


def run_case(case: RepairCase, strategies: tuple[StrategyName, ...]) -> Record:
    """Return the results of a run: unchanged, of its twin, and repaired by each strategy."""
    made = prepare_run(case.plan, case.seed, case.folder)
    plain = train_unrepaired(made, case)
    record: Record = {
        "name": case.name,
        "problem": case.problem,
        "seed": case.seed,
        "epochs": made.recipe.epochs,
        "plain": plain,
        "twin": None,
    }
    if case.twin is not None:
        record["twin"] = train_unrepaired(prepare_run(case.twin, case.seed, case.folder), case)
    for strategy in strategies if case.problem else strategies[:1]:
        record[strategy] = repair_by(strategy, made, case, record)
    return record


def train_unrepaired(made: PreparedRun, case: RepairCase) -> Record:
    """Train without looking for problems. Return the score and the seconds."""
    data = data_of(made, case)
    terms = RunSettings(problems=(), treatable=(), epochs=made.recipe.epochs or 1, seed=case.seed)
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


def repair_by(
    strategy: StrategyName, made: PreparedRun, case: RepairCase, record: Record
) -> Record:
    """Repair a run with one strategy and return the results."""
    start = perf_counter()
    outcome = repair(
        made.recipe,
        made.data,
        validation=made.validation,
        strategy=strategy,
        seed=case.seed,
        progress=False,
    )
    after = number(made.score(outcome.model, outcome.recipe))
    names = [each.problem for each in outcome.findings]
    first = outcome.attempts[0].result
    right = {case.problem, *ACCEPTED.get(case.problem, ())}
    twin = record["twin"]["score"] if record["twin"] else record["plain"]["score"]
    won = [each for each in outcome.attempts if each.remedy and each.result == "healthy"]
    return {
        "found": names[:1],
        "all_found": names,
        "stopped": "" if first == "healthy" else first,
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


def data_of(made: PreparedRun, case: RepairCase) -> Data:
    return Data.of(made.data, made.validation, batch_size=made.recipe.batch_size, seed=case.seed)


def number(score: float) -> float:
    """Return a score. It is -1 for a model whose outputs are not finite."""
    return -1.0 if isnan(score) else score
