"""Train a model; where something is wrong, repair it and train again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import (
    bad_argument,
    check_bool,
    check_choice,
    check_float,
    check_int,
    check_path,
    check_seed,
)
from sickbay.console import Console
from sickbay.devices import device as check_device
from sickbay.errors import UsageError
from sickbay.model_arguments import check_model, check_optimizer
from sickbay.printable import error_message
from sickbay.problems.profiles import PROFILES
from sickbay.problems.profiles import choose as choose_problems
from sickbay.recipe import Loss, Recipe
from sickbay.remedies import Remedy
from sickbay.remedies.choices import choose as choose_remedies
from sickbay.repairs.autotrainer import autotrainer
from sickbay.repairs.data import Data
from sickbay.repairs.fingerprint import fingerprint
from sickbay.repairs.journal import Journal
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.own_loop import OwnCrew, Train, check_train
from sickbay.repairs.picklable import check_sendable
from sickbay.repairs.preflight import check_fit, check_loss
from sickbay.repairs.race import race
from sickbay.repairs.search import Search
from sickbay.repairs.training import Terms
from sickbay.repairs.workers import Workers, check_workers, crew_of

Strategy = Literal["race", "autotrainer"]
STRATEGIES: Mapping[str, Callable[[Search], Outcome]] = {"race": race, "autotrainer": autotrainer}
MOST = {"race": 2.5, "autotrainer": 50.0}  # times the planned epochs, where no budget is given


def fit(
    model: nn.Module,
    data: Any,
    *,
    loss: Loss,
    optimizer: Optimizer | Callable[..., Optimizer],
    validation: Any = None,
    batch_size: int = 32,
    epochs: int = 50,
    target: float | None = None,
    device: str | torch.device | None = None,
    remedies: Sequence[str | Remedy] | None = None,
    budget: float | None = None,
    profile: str | None = None,
    strategy: Strategy = "race",
    workers: Workers = None,
    chart: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: bool = True,
    console: Console | None = None,
) -> Outcome:
    """Train a model; where something is wrong, repair it and train again.

    The model given is not touched; the trained one is `Outcome.model`.

    Args:
        model: The model, with the weights to begin from.
        data: Training samples: a pair of tensors or arrays, a Dataset, or a DataLoader, whose
            order, sampler, batch size and collation are kept.
        loss: A module, or a function of outputs and targets.
        optimizer: The optimizer of the model, or a function that makes one of parameters.
        validation: Held-out samples; without them a tenth of the data is held out, if there are 50
            samples or more.
        batch_size: Samples in a batch; a DataLoader has its own.
        epochs: Epochs of one training.
        target: The score at which training is done. It is the accuracy where there is one, for
            numbers the share of the variance that is explained, else minus the loss.
        device: Where to train; the device of the model if not given.
        remedies: Remedies that may be used, names or objects; all if not given. "autotrainer" takes
            them in this order, "race" by their odds.
        budget: Epochs that all attempts together may take; 2.5 trainings if not given.
        profile: The problems to look for: "default", or that of the strategy.
        strategy: "race" (short heats, the best goes on), or "autotrainer" (as in the paper).
        workers: Processes that heats run in, or "ray".
        chart: A folder to record every attempt in.
        resume: Whether to go on with the run in that folder.
        seed: Of the order of the data and of dropout; your own random numbers are left alone.
        progress: Whether to show a bar and what happens.
        console: Where to.

    Raises:
        UsageError: If something given cannot be used; nothing has been done then.
    """
    check_model(model, trainable=True)
    check_loss(loss)
    made = optimizer if isinstance(optimizer, Optimizer) else _made(optimizer, model)
    recipe = Recipe(
        model, loss, made, batch_size=batch_size, epochs=check_int("epochs", epochs, least=1)
    )
    return repair(
        recipe,
        data,
        validation=validation,
        target=target,
        device=device,
        remedies=remedies,
        budget=budget,
        profile=profile,
        strategy=strategy,
        workers=workers,
        chart=chart,
        resume=resume,
        seed=seed,
        progress=progress,
        console=console,
    )


def repair(
    recipe: Recipe,
    data: Any = None,
    *,
    train: Train | None = None,
    validation: Any = None,
    target: float | None = None,
    device: str | torch.device | None = None,
    remedies: Sequence[str | Remedy] | None = None,
    budget: float | None = None,
    profile: str | None = None,
    strategy: Strategy = "race",
    workers: Workers = None,
    chart: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: bool = True,
    console: Console | None = None,
    learn: bool = True,
) -> Outcome:
    """Do what `fit` does, from a recipe, and where `train` is given in the user's own loop.

    `train(recipe, doctor)` trains `recipe.model` with `recipe.optimizer` and tells the doctor of
    each step and epoch, as any watched loop does. It is begun anew with every repaired recipe, and
    left by an exception where something is found, so it should not swallow what it does not know.
    Each time it finds torch, numpy and random seeded with `seed`; its data is its own affair, so
    `data`, `validation` and `workers` are not for it. `learn` says whether what works is added to
    the odds. The other arguments are those of `fit`.
    """
    workers = _check_call(recipe, strategy, train, data, validation, workers)
    path = _check_said(chart, resume, progress, console, learn)
    recipe = replace(recipe, epochs=50 if recipe.epochs is None else recipe.epochs)
    choices = choose_remedies(remedies)
    terms = _terms(recipe, choices, strategy, profile, target=target, device=device, seed=seed)
    limit = MOST[strategy] * terms.epochs
    if budget is not None:
        limit = check_float("budget", budget, above=0)
    samples = None if train is not None else _taken(recipe, data, validation, terms)
    recipe = (recipe if samples is None else informed(recipe, samples)).on(terms.device)
    _check_sendable(workers, recipe, samples, terms)
    settings = {"strategy": strategy, "budget": limit, "remedies": _keys(choices), "train": train}
    mark = partial(fingerprint, recipe, samples, terms, **settings)
    journal = Journal(path, resume, mark, terms.epochs if progress else None, console)
    if samples is not None and not samples.held_out:
        journal.say("no samples are held out: scores are on the training data.")
    crew = crew_of(workers) if train is None else OwnCrew(train)
    with journal, Search(recipe, samples, terms, crew, journal, choices, limit) as search:
        outcome = STRATEGIES[strategy](search)
    if learn:
        search.note()
    journal.close(outcome)
    return outcome


def _check_call(
    recipe: Recipe, strategy: str, train: Train | None, data: Any, validation: Any, workers: Workers
) -> Workers:
    """Return `workers`, or say what cannot be used, or does not go together."""
    if not isinstance(recipe, Recipe):
        raise bad_argument("recipe", "a sickbay.Recipe", recipe)
    check_choice("strategy", strategy, STRATEGIES)
    if train is None and data is None:
        raise UsageError("repair needs data, or train= with a loop of your own; got neither.")
    workers = check_workers(workers)
    if train is not None:
        check_train(train, data=data, validation=validation, workers=workers)
    check_model(recipe.model, trainable=True)
    check_loss(recipe.loss)
    check_optimizer(recipe.optimizer, recipe.model)
    return workers


def _check_said(
    chart: object, resume: object, progress: object, console: object, learn: object
) -> Path | None:
    """Return the folder to record in, or say what of how it is told of cannot be used."""
    flags = {"resume": resume, "progress": progress, "learn": learn}
    for name, value in flags.items():
        check_bool(name, value)
    if console is not None and not isinstance(console, Console):
        raise bad_argument("console", "a rich.console.Console or None", console)
    if chart is None and resume:
        raise UsageError("resume=True needs the folder of the run to resume as chart=.")
    return None if chart is None else check_path("chart", chart)


def _terms(
    recipe: Recipe,
    choices: Mapping[str, Sequence[Remedy]],
    strategy: Strategy,
    profile: str | None,
    *,
    target: float | None,
    device: str | torch.device | None,
    seed: int,
) -> Terms:
    """Return what holds for every attempt."""
    if profile is None:
        profile = "autotrainer" if strategy == "autotrainer" else "default"
    assert recipe.epochs is not None
    return Terms(
        problems=choose_problems(check_choice("profile", profile, PROFILES)),
        treatable={name for name, given in choices.items() if given},
        epochs=recipe.epochs,
        target=None if target is None else check_float("target", target, infinite=True),
        device=str(_place(recipe, device)),
        seed=check_seed(seed),
        check_every=3 if strategy == "autotrainer" else None,
    )


def _place(recipe: Recipe, device: str | torch.device | None) -> torch.device:
    """Return where to train."""
    own = next(recipe.model.parameters()).device
    return check_device("device", own if device is None else device)


def _keys(choices: Mapping[str, Sequence[Remedy]]) -> dict[str, list[str]]:
    return {problem: [each.key for each in given] for problem, given in choices.items()}


def _check_sendable(workers: Workers, recipe: Recipe, samples: Data | None, terms: Terms) -> None:
    """Say so if something cannot be sent to worker processes, where there are to be some."""
    if isinstance(workers, int):
        parts = {"loss": recipe.loss, "model": recipe.model, "optimizer": recipe.optimizer}
        check_sendable(**parts, data=samples, problems=terms.problems)


def _taken(recipe: Recipe, data: Any, validation: Any, terms: Terms) -> Data:
    """Return the data as given, or say why the recipe cannot be trained on it."""
    samples = Data.of(
        data,
        validation,
        batch_size=recipe.batch_size,
        seed=terms.seed,
        device=terms.device,
        dtype=next(recipe.model.parameters()).dtype,
    )
    check_fit(recipe.model, samples, recipe.loss, recipe.optimizer, terms.target)
    return samples


def informed(recipe: Recipe, samples: Data) -> Recipe:
    """Return a recipe that knows its data, and has the batch size of a DataLoader."""
    size = samples.batch_size or recipe.batch_size
    return replace(
        recipe,
        batch_size=size,
        example=samples.example(min(32, size)),
        inputs=samples.without_bad_samples().statistics(),
        targets=samples.targets(),
    )


def _made(factory: Callable[..., Optimizer], model: nn.Module) -> Optimizer:
    """Return the optimizer that a function makes."""
    if not callable(factory):
        given = type(factory).__name__
        raise UsageError(f"optimizer must be an optimizer, or a function making one, got {given}.")
    try:
        optimizer = factory(model.parameters())
    except Exception as error:
        rule = "optimizer must make a torch.optim.Optimizer of parameters"
        raise UsageError(f"{rule}, it raised: {error_message(error)}") from error
    if not isinstance(optimizer, Optimizer):
        given = type(optimizer).__name__
        raise UsageError(f"optimizer must make a torch.optim.Optimizer, it has made {given}.")
    return optimizer
