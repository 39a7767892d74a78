"""Train a model with a repair strategy, or with only one of AutoTrainer's solutions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.published.autotrainer.cases import Case
from benchmarks.published.autotrainer.data_sets import EXPECTED
from benchmarks.published.autotrainer.prepare import prepare
from benchmarks.published.autotrainer.record import rules
from benchmarks.published.autotrainer.solutions import remedies_of
from sickbay.repairs import AutoTrainer
from sickbay.repairs.fit import repair

STRATEGIES = ("autotrainer", "race")
BUDGET = 12  # trainings that AutoTrainer's strategy may take; the paper has no limit


def strategy_arguments(case: Case, strategy: str) -> dict[str, Any]:
    """Return the arguments of `repair` for a strategy."""
    if strategy == "race":
        return {"strategy": "race"}
    published = AutoTrainer(accuracy=EXPECTED[case.data])
    return {"strategy": published, "budget": BUDGET * case.epochs}


def repair_case(case: Case, folder: Path | None, strategy: str) -> dict[str, Any]:
    """Repair a case with a strategy and return what happened."""
    return run(case, folder, strategy_arguments(case, strategy))


def try_solution(case: Case, folder: Path | None, solution: str) -> dict[str, Any]:
    """Repair a case with one solution alone, and look for no other problem."""
    arguments = strategy_arguments(case, "autotrainer")
    arguments["problems"] = [rules(EXPECTED[case.data])[case.problem]]
    arguments["remedies"] = remedies_of(case.problem, solution)
    return run(case, folder, arguments)


def run(case: Case, folder: Path | None, arguments: dict[str, Any]) -> dict[str, Any]:
    prepared = prepare(case, folder)
    start = process_time()
    outcome = repair(
        prepared.recipe,
        prepared.training,
        validation=prepared.validation,
        seed=case.seed,
        progress=False,
        learn=False,
        **arguments,
    )
    spent = process_time() - start
    names = ("number", "parent", "problem", "remedy", "epochs", "result")
    attempts = [asdict(each) for each in outcome.attempts]
    return {
        "solved": outcome.solved,
        "found": list(dict.fromkeys(each.problem for each in outcome.findings)),
        "attempts": [{name: each[name] for name in names} for each in attempts],
        "score": prepared.score(outcome.model, outcome.recipe),
        "epochs": outcome.epochs,
        "planned": case.epochs,
        "expected": EXPECTED[case.data],
        "seconds": spent,
    }
