"""Checks that code in the tables of the documentation names only what exists."""

import ast
import shlex
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from types import ModuleType
from typing import Any, get_args

import optuna
import torch

import benchmarks
import sickbay
from sickbay import cli
from sickbay.checkups.statements import known_statements
from sickbay.doctor.run_log import OnFinding
from sickbay.findings import EventKind
from sickbay.history import History
from sickbay.problems import by_name, profiles
from sickbay.problems.trials.comparison import ComparedProblem, Comparison
from sickbay.remedies import by_problem
from sickbay.tuning.optuna import DiagnosisPruner
from sickbay.tuning.optuna.study_notes import DIAGNOSIS
from sickbay.tuning.optuna.watch_trial import Learns
from sickbay.vitals import KINDS, STATISTICS, Table

KINDS_BY_NAME = {**known_statements(), **by_problem.installed(), **by_name.EVERY}
CLASSES = {kind.__name__: kind for kind in KINDS_BY_NAME.values()}
SCALARS = ("loss", "lr", "grad_norm", "update_ratio", "output_spread")
WORDS = {*KINDS_BY_NAME, *profiles.PROFILES, *KINDS, *STATISTICS, *SCALARS, *get_args(EventKind)}
LITERALS = {*get_args(get_args(OnFinding)[0]), *get_args(Learns), "race", *profiles.PROFILES}
YOURS = {"batch", "objective", "due", "sampler", "send"}  # what a user brings
PUBLISHED = ("autotrainer", "bttackler", "bttackler_paper", "training_doctor")
NAMES: Mapping[str, Any] = {
    **CLASSES,
    **{name: import_module(f"sickbay.problems.published.{name}") for name in PUBLISHED},
    "sickbay": sickbay, "torch": torch, "optuna": optuna, "benchmarks": benchmarks,
    "watch": sickbay.watch, "fit": sickbay.fit, "repair": sickbay.repair,
    "checkup": sickbay.checkup, "check": sickbay.Problem.check,
    "doctor": sickbay.Doctor, "history": History(), "chart": sickbay.Chart, "table": Table,
    "finding": sickbay.Finding, "outcome": sickbay.Outcome, "recipe": sickbay.Recipe,
    "report": sickbay.Report, "trial": optuna.Trial, "study": optuna.Study,
    "DiagnosisPruner": DiagnosisPruner, "ComparedProblem": ComparedProblem,
    "compare": ComparedProblem.compare, "beside": Comparison,
}  # fmt: skip


def check_code(code: str, names: Mapping[str, Any] = NAMES) -> None:
    """Raise an `AssertionError` or a `UsageError` unless a piece of code names what exists.

    It is a command of sickbay, the attribute of a trial, or a Python expression.
    """
    if code.startswith("sickbay "):
        cli._parser().parse_args(shlex.split(code)[1:])
    elif code.startswith("python -m "):
        assert find_spec(shlex.split(code)[2]), f"{code} is no program"
    elif code.startswith("sickbay:"):
        assert code == DIAGNOSIS, f"{code} is no attribute of a trial"
    else:
        _Expression(names).visit(ast.parse(code, mode="eval").body)


class _Expression:
    """Resolves an expression to what it names. The value of a call is not followed further."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def visit(self, node: ast.expr) -> Any:
        """Return what an expression names, None if that is not known."""
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Attribute):
            return attribute(self.visit(node.value), node.attr)
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value in LITERALS, f"{node.value!r} is no choice of any argument"
        return None

    def _name(self, name: str) -> Any:
        assert name in self._names or name in WORDS or name in YOURS, f"there is no {name}"
        return self._names.get(name)

    def _call(self, node: ast.Call) -> None:
        called = self.visit(node.func)
        assert called is not None or _is_yours(node.func), f"{ast.unparse(node.func)} is no call"
        if called is None:
            return
        known = signature(called).parameters
        takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
        given = {str(keyword.arg): keyword.value for keyword in node.keywords}
        for name, value in given.items():
            assert name in known or takes_all, f"{ast.unparse(node.func)} takes no {name}"
            self._argument(name, value)
        if called in CLASSES.values() or _is_published(called):
            called(**{name: ast.literal_eval(value) for name, value in given.items()})

    def _argument(self, name: str, value: ast.expr) -> None:
        if name in ("profile", "strategy", "on_finding", "learns") or isinstance(value, ast.Call):
            self.visit(value)
        if isinstance(value, ast.List) and name in ("problems", "remedies"):
            for each in value.elts:
                if not isinstance(each, ast.Constant):
                    self.visit(each)
                elif name == "problems":
                    profiles.choose(problems=[str(each.value)])
                else:
                    by_problem.choose([str(each.value)])


def _is_yours(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in YOURS


def _is_published(kind: object) -> bool:
    return getattr(kind, "__module__", "").startswith("sickbay.problems.published.")


def attribute(owner: Any, name: str) -> Any:
    """Return an attribute; of a dataclass also a field without a default, as None."""
    if is_dataclass(owner) and name in {field.name for field in fields(owner)}:
        return getattr(owner, name, None)
    if isinstance(owner, ModuleType) and not hasattr(owner, name):
        return import_module(f"{owner.__name__}.{name}")
    assert hasattr(owner, name), f"{owner!r} has no {name}"
    return getattr(owner, name)
