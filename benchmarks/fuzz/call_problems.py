"""Calls that create and use problems and remedies."""

from __future__ import annotations

from dataclasses import fields
from inspect import isabstract
from typing import Any

import torch
from torch import nn

import sickbay
from benchmarks.fuzz import odd_models, sound_files
from benchmarks.fuzz.call_with_wrong_arguments import Call, Make
from benchmarks.fuzz.fuzz_input import FuzzInput
from sickbay import remedies
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.by_name import EVERY
from sickbay.remedies import Remedy
from sickbay.vitals import Setup, Table, Vitals

REMEDIES = [
    kind
    for kind in vars(remedies).values()
    if isinstance(kind, type) and issubclass(kind, Remedy) and not isabstract(kind)
]


def history(random: Any) -> History:
    """Return a history of normal or extreme numbers."""
    wild = (0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), float("-inf"))
    made = History(random.choice((sound_files.SETUP, Setup())))
    for step in range(random.choice((0, 1, 3, 40))):
        numbers = ("loss", "grad_norm", "accuracy", "lr")
        scalars = {name: random.choice((*wild, *[1.0] * 9)) for name in numbers}
        tables: list[Table] = []
        for kind in ("gradient", "raw_gradient", "weight", "activation", "batch"):
            rows = {"activation": ("0", "1"), "batch": ("input", "output", "target")}
            names = rows.get(kind, sound_files.NAMES)
            columns = ("norm", "count", "mean", "zeros", "nonfinite", "dead_units", "absmax")
            table = {row: {each: random.choice(wild) for each in columns} for row in names}
            if random.random() < 0.5:
                tables.append(Table.of(kind, step, table))
        made.append(Vitals(step, step // 4, float(step), scalars, tables))
        if step % 4 == 3:
            made.end_epoch(val_loss=random.choice(wild), val_accuracy=random.choice(wild))
    return made


def problem(case: FuzzInput) -> Call:
    """Create a problem with odd limits and check a history with it."""
    kind = EVERY[case.random.choice(list(EVERY))]
    kwargs = {each.name: each.default for each in fields(kind)}  # type: ignore[arg-type]

    def ask(made: Problem) -> None:
        repr(made), made.name()
        made.check(history(case.random))

    return Call(kind.__name__, kind, (), kwargs, ask)


def finding(case: FuzzInput) -> sickbay.Finding:
    return sickbay.Finding(
        problem=case.random.choice(list(EVERY)), step=1, layers=("0", "x"), message="m"
    )


def recipe(case: FuzzInput) -> sickbay.Recipe:
    """Return a recipe with an example, for a sound or an odd model."""
    odd = odd_models.MODELS[case.random.choice(list(odd_models.MODELS))]
    model = odd_models.sound() if case.random.random() < 0.6 else odd()
    x, y = odd_models.batch()
    try:
        optimizer: Any = odd_models.optimizer_of(model)
    except Exception:  # a model that raises when asked for its parameters
        model = odd_models.sound()
        optimizer = odd_models.optimizer_of(model)
    known: dict[str, Any] = {"example": (x,), "targets": y, "inputs": (x.mean(0), x.std(0))}
    given = known if case.random.random() < 0.8 else {}
    return sickbay.Recipe(model, nn.CrossEntropyLoss(), optimizer, setup=sound_files.SETUP, **given)


def remedy(case: FuzzInput) -> Call:
    """Create a remedy with odd settings and let it prescribe."""
    kind = case.random.choice(REMEDIES)
    kwargs = {each.name: each.default for each in fields(kind)}  # type: ignore[arg-type]

    def ask(made: Remedy) -> None:
        str(made), made.key, made.code
        given = recipe(case)
        prescribed = made.prescribe(finding(case), given)
        if prescribed is not None:
            given.diff(prescribed)

    return Call(kind.__name__, kind, (), kwargs, ask)


def prescribe(case: FuzzInput) -> Call:
    kind = case.random.choice(REMEDIES)
    try:
        made = kind()
    except TypeError:  # has required settings
        made = remedies.ClipNorm()
    return Call(f"{kind.__name__}.prescribe", made.prescribe, (finding(case), recipe(case)))


def odd_recipe(_: FuzzInput) -> Call:
    """Create a recipe with odd settings."""
    model = odd_models.sound()
    kwargs: dict[str, Any] = {
        "model": model,
        "loss": nn.MSELoss(),
        "optimizer": odd_models.optimizer_of(model),
        "batch_size": 3,
        "epochs": 2,
        "clip_norm": 1.0,
        "clip_value": None,
        "warmup": 0,
        "patience": 0,
        "cooldown": 0,
        "skip_bad_batches": False,
        "train_mode": False,
        "rollbacks": 0,
        "code": (),
        "example": (torch.ones(2, 3),),
        "inputs": None,
        "targets": None,
        "setup": Setup(),
    }

    def use(made: sickbay.Recipe) -> None:
        made.lr, made.diff(made.with_lr(0.2)), made.on("cpu"), made.copy()

    return Call("Recipe", sickbay.Recipe, (), kwargs, use)


TARGETS: dict[Make, float] = {problem: 16, remedy: 12, prescribe: 8, odd_recipe: 6}
