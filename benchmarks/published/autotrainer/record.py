"""Train a model to the end and record when each rule of the paper holds, with many thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.published.autotrainer.cases import Case
from benchmarks.published.autotrainer.data_sets import EXPECTED
from benchmarks.published.autotrainer.prepare import prepare
from benchmarks.published.autotrainer.train import doctor_for, train
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES

CHECK_EVERY = 3  # epochs, the default of the paper
# By problem and threshold: the letter of the paper, and the values to try.
SWEPT: Mapping[tuple[str, str], tuple[str, tuple[float, ...]]] = {
    ("vanishing_gradient", "ratio"): ("beta 1", (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5)),
    ("vanishing_gradient", "norm"): ("beta 2", (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1.0)),
    ("exploding_gradient", "ratio"): ("beta 3", (1.5, 5, 20, 70, 200, 1e3, 1e5)),
    ("dying_relu", "share"): ("gamma", (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)),
    ("oscillating_accuracy", "size"): ("zeta", (0.001, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4)),
    ("oscillating_accuracy", "share"): ("eta", (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)),
    ("slow_convergence", "change"): ("delta", (1e-4, 0.002, 0.004, 0.01, 0.014, 0.03, 0.1)),
    ("abnormal_data", "limit"): ("omega", (1, 3, 6, 10, 20, 100, 1e4)),
}


def rules(accuracy: float) -> dict[str, Problem]:
    """Return the problems of the paper with the accuracy that a user expects."""
    return {each.name(): expecting(each, accuracy) for each in PROFILES["autotrainer"]}


def expecting(problem: Problem, accuracy: float) -> Problem:
    """Return a problem that counts up to this accuracy, if it depends on an accuracy at all."""
    changes = {"accuracy": accuracy} if has_field(problem, "accuracy") else {}
    changed: Problem = replace(problem, **changes)  # type: ignore[type-var]
    return changed


def has_field(problem: Problem, name: str) -> bool:
    return any(each.name == name for each in fields(problem))  # type: ignore[arg-type]


def key_of(problem: str, threshold: str, value: float) -> str:
    return f"{problem}.{threshold}={value:g}"


def variants(accuracy: float) -> dict[str, Problem]:
    """Return each problem with each of its thresholds varied."""
    default = rules(accuracy)
    return {
        key_of(name, threshold, value): replace(default[name], **{threshold: value})  # type: ignore[type-var]
        for (name, threshold), (_, values) in SWEPT.items()
        for value in values
    }


class RuleRecorder:
    """Asks every rule after every epoch."""

    def __init__(self, accuracy: float, sweep: bool = True) -> None:
        self.rules = rules(accuracy)
        self.variants = variants(accuracy) if sweep else {}
        self.holds: dict[str, list[int]] = {}  # by problem: the epochs at which it holds
        self.swept: dict[str, int] = {}  # by variant: the first check at which it holds
        self.seconds = 0.0

    def __call__(self, epoch: int, history: History) -> None:
        start = process_time()
        self.ask(epoch, history)
        self.seconds += process_time() - start

    def ask(self, epoch: int, history: History) -> None:
        for name, rule in self.rules.items():
            if rule.check(history) is not None:
                self.holds.setdefault(name, []).append(epoch)
        if epoch % CHECK_EVERY:
            return
        for key, variant in self.variants.items():
            if key not in self.swept and variant.check(history) is not None:
                self.swept[key] = epoch


def record(case: Case, folder: Path | None, seed: int, sweep: bool = True) -> dict[str, Any]:
    """Train a case to its end and return its curves, its score, and when each rule held."""
    prepared = prepare(case, folder, seed)
    asked = RuleRecorder(EXPECTED[case.data], sweep)
    start = process_time()
    doctor = doctor_for(prepared, tuple(asked.rules.values()))
    accuracy = train(prepared, seed, doctor, asked)
    spent = process_time() - start
    return {
        "accuracy": [round(each, 4) for each in accuracy],
        "score": prepared.score(prepared.recipe.model, prepared.recipe),
        "seconds": spent - asked.seconds,
        "holds": asked.holds,
        "swept": asked.swept,
    }
