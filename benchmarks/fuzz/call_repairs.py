"""Calls that train, examine or change a model."""

from __future__ import annotations

from typing import Any

import torch
from rich.console import Console
from torch import nn

import sickbay
from benchmarks.fuzz import odd_models
from benchmarks.fuzz.call_with_wrong_arguments import Call, Make
from benchmarks.fuzz.fuzz_input import FuzzInput
from sickbay import surgery

CHEAP = ["parameters_are_sane", "inputs_are_sane", "targets_are_sane", "runs_on_the_batch"]


def common(case: FuzzInput) -> dict[str, Any]:
    """Return the options that `fit` and `repair` share."""
    return {
        "validation": None,
        "target": None,
        "metric": None,
        "device": None,
        "remedies": None,
        "budget": None,
        "profile": None,
        "strategy": "race",
        "workers": None,
        "callbacks": None,
        "chart": case.random.choice((None, str(case.home / "r"))),
        "resume": False,
        "seed": 0,
        "progress": False,
        "console": None,
    }


def fit(case: FuzzInput) -> Call:
    model = odd_models.sound()
    kwargs = {
        "model": model,
        "data": odd_models.batch(),
        "loss": nn.CrossEntropyLoss(),
        "optimizer": odd_models.optimizer_of(model),
        "batch_size": 6,
        "epochs": 1,
        "scheduler": None,
        "scheduler_step": "epoch",
        **common(case),
    }
    kept = ("epochs",) if case.random.random() < 0.7 else ()
    return Call("fit", sickbay.fit, (), kwargs, shown, slow=True, kept=kept)


def shown(outcome: Any) -> None:
    outcome.summary(), repr(outcome), outcome.diff


def recipe_of(**changes: Any) -> sickbay.Recipe:
    model = odd_models.sound()
    loss, optimizer = nn.CrossEntropyLoss(), odd_models.optimizer_of(model)
    x, _ = odd_models.batch()
    given: dict[str, Any] = {"batch_size": 6, "epochs": 1, "example": (x,), **changes}
    return sickbay.Recipe(model, loss, optimizer, **given)


def repair(case: FuzzInput) -> Call:
    own = case.random.random() < 0.4
    kwargs = {
        "recipe": recipe_of(),
        "data": None if own else odd_models.batch(),
        "train": train if own else None,
        **common(case),
        "learn": False,
    }
    return Call("repair", sickbay.repair, (), kwargs, shown, slow=True)


def train(recipe: sickbay.Recipe, doctor: sickbay.Doctor) -> None:
    x, y = odd_models.batch()
    for _ in range(2):
        recipe.optimizer.zero_grad()
        loss = recipe.loss(recipe.model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        recipe.optimizer.step()
        doctor.step(loss)
    doctor.epoch(val_loss=1.0)


def odd_recipe(case: FuzzInput) -> Call:
    """Repair a recipe with odd parts."""
    model = odd_models.MODELS[case.random.choice(list(odd_models.MODELS))]()
    case.note(type(model).__name__)

    def both(**given: Any) -> Any:
        made = sickbay.Recipe(**given)
        return sickbay.repair(
            made, odd_models.batch(), progress=False, learn=False, console=Console(quiet=True)
        )

    try:
        optimizer: Any = odd_models.optimizer_of(model)
    except Exception:  # a model that raises when asked for its parameters
        optimizer = torch.optim.SGD(odd_models.sound().parameters(), lr=0.1)
    kwargs = {
        "model": model,
        "loss": nn.CrossEntropyLoss(),
        "optimizer": optimizer,
        "batch_size": 6,
        "epochs": 1,
        "clip_norm": None,
        "clip_value": None,
        "warmup": 0,
        "patience": 0,
        "cooldown": 0,
        "scheduler": None,
        "scheduler_step": "epoch",
        "skip_bad_batches": False,
        "rollbacks": 0,
        "clean_data": False,
    }
    kept = ("epochs", "cooldown") if case.random.random() < 0.8 else ()
    return Call("repair(Recipe)", both, (), kwargs, shown, slow=True, kept=kept)


def recipes(case: FuzzInput) -> Call:
    """Call a method of a recipe."""
    recipe = recipe_of()
    model = odd_models.sound()
    methods: dict[str, tuple[Any, ...]] = {
        "with_lr": (0.1,),
        "with_model": (model, "model = 1"),
        "with_settings": ("code",),
        "with_optimizer": (torch.optim.Adam,),
        "but": ("code",),
        "diff": (recipe.with_lr(0.5),),
        "on": ("cpu",),
    }
    name = case.random.choice(list(methods))
    kwargs: dict[str, Any] = {"with_settings": {"lr": 0.2}, "with_optimizer": {"lr": 0.1}}
    keywords = kwargs.get(name, {"epochs": 3} if name == "but" else {})
    return Call(f"Recipe.{name}", getattr(recipe, name), methods[name], keywords, differs(recipe))


def differs(recipe: sickbay.Recipe) -> Any:
    def show(made: Any) -> None:
        if isinstance(made, sickbay.Recipe):
            recipe.diff(made), made.lr, made.copy()

    return show


def checkup(case: FuzzInput) -> Call:
    model = odd_models.MODELS[case.random.choice(list(odd_models.MODELS))]()
    model = odd_models.sound() if case.random.random() < 0.6 else model
    kwargs = {
        "model": model,
        "batch": odd_models.batch(6),
        "loss": nn.CrossEntropyLoss(),
        "optimizer": odd_models.optimizer_of(odd_models.sound()),
        "task": None,
        "tests": case.random.choice((CHEAP[:1], CHEAP, ["output_fits_the_loss"], "modes_differ")),
        "validation": case.random.choice((None, odd_models.batch(3))),
        "progress": False,
        "seed": 0,
    }

    def show(report: sickbay.Report) -> None:
        str(report), report.as_json(), report.as_sarif(), report.fails("warning")

    return Call("checkup", sickbay.checkup, (), kwargs, show, slow=True)


def operation(case: FuzzInput) -> Call:
    """Call an operation that changes a model."""
    x, _ = odd_models.batch(6)
    model = odd_models.MODELS[case.random.choice(list(odd_models.MODELS))]()
    model = odd_models.sound() if case.random.random() < 0.6 else model
    given: dict[str, dict[str, Any]] = {
        "replace_activations": {"example": (x,), "to": "selu", "layers": None},
        "add_dropout": {"example": (x,), "p": 0.1},
        "initialise": {"scheme": "he_normal", "seed": 0},
        "insert_normalisation": {"example": (x,)},
        "output_activation": {"example": (x,)},
        "replace_output": {"example": (x,), "to": "softmax"},
        "resize_output": {"example": (x,), "width": 3, "seed": 0},
        "standardise_inputs": {"mean": torch.zeros(3), "std": torch.ones(3), "clip": 10.0},
    }
    name = case.random.choice(list(given))
    return Call(f"surgery.{name}", getattr(surgery, name), (), {"model": model, **given[name]})


TARGETS: dict[Make, float] = {
    fit: 6,
    repair: 5,
    odd_recipe: 3,
    recipes: 6,
    checkup: 10,
    operation: 16,
}
