"""Train a model. If something goes wrong, repair it and train again."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from sickbay.arguments import bad_argument, check_float, check_int, check_seed
from sickbay.console import Console
from sickbay.errors import UsageError
from sickbay.model_arguments import check_device, check_model, check_optimizer
from sickbay.problems import Problem
from sickbay.recipe import Loss, Recipe, SchedulerStep
from sickbay.remedies import Remedy
from sickbay.remedies.by_problem import choose as choose_remedies
from sickbay.repairs.budgets import budgets
from sickbay.repairs.callbacks import Callback, check_callbacks
from sickbay.repairs.choose_executor import Workers, choose_executor
from sickbay.repairs.data import Data
from sickbay.repairs.fingerprint import fingerprint
from sickbay.repairs.journal import Journal, check_output
from sickbay.repairs.metrics import Metric, check_metric
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.preflight import (
    check_fit,
    check_loss,
    hooks_of,
    make_optimizer,
    usual_metric,
)
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.search import Search
from sickbay.repairs.strategy import Strategy, StrategyName, check_strategy, problems_for
from sickbay.repairs.user_loop import Train, check_train
from sickbay.repairs.yardsticks.measure import Yardsticks
from sickbay.schedules import MakeScheduler, check_scheduler


def fit(
    model: nn.Module,
    data: Any,
    *,
    loss: Loss,
    optimizer: Optimizer | Callable[..., Optimizer],
    validation: Any = None,
    scheduler: LRScheduler | MakeScheduler | None = None,
    scheduler_step: SchedulerStep = "epoch",
    batch_size: int = 32,
    epochs: int = 50,
    target: float | None = None,
    metric: Metric | None = None,
    device: str | torch.device | None = None,
    remedies: Sequence[str | Remedy] | None = None,
    budget: float | None = None,
    profile: str | None = None,
    problems: Sequence[str | Problem] | None = None,
    strategy: StrategyName | Strategy = "race",
    workers: Workers = None,
    callbacks: Sequence[Callback] | None = None,
    chart: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: bool = True,
    console: Console | None = None,
) -> Outcome:
    """Train a model. If something goes wrong, repair it and train again.

    The model that you pass is not changed. The trained one is `Outcome.model`.

    Args:
        model: The model, with its initial weights.
        data: Training samples: a pair of tensors or arrays, a Dataset, or a DataLoader, whose
            order, sampler, batch size and collation are kept.
        loss: A module, or a function of outputs and targets.
        optimizer: The model's optimizer, or a function that makes one from parameters.
        validation: Held-out samples. Without them, a tenth of the data is held out if there are
            at least 50 samples.
        scheduler: A torch scheduler of the optimizer, or a function that makes one from it.
        scheduler_step: When it steps: after each "epoch" or each "batch".
        batch_size: Samples in a batch. A DataLoader has its own.
        epochs: Epochs of one training run.
        target: The score at which training is done.
        metric: The score: "accuracy", "precision", "recall", "f1" (means over all classes),
            "balanced_accuracy", "r2", "loss" (minus the loss), or a function of all held-out
            outputs and targets whose result is better the higher it is. Defaults to accuracy for
            classes, balanced if the loss weighs them; the share of explained variance for
            numbers; else minus the loss.
        device: Where to train. Defaults to the model's device.
        remedies: Remedies to choose from, as names or objects. Defaults to all of the strategy.
            "autotrainer" tries them in this order, "race" by their odds.
        budget: Epochs that all attempts together may take. Defaults to 2.5 training runs, or 6 as
            long as the score falls short of simple means and for the last run (a small model may
            take more), or 50 with "autotrainer".
        profile: The problems to look for. Defaults to "default", or to "autotrainer" with the
            strategy of that name.
        problems: The problems to look for instead: names, or objects with your own thresholds.
        strategy: "race" (remedies compete in short runs, and the best goes on), "autotrainer" (as
            in the AutoTrainer paper), or `sickbay.AutoTrainer(...)` with settings of your own.
        workers: The number of processes to train in, or "ray".
        callbacks: Functions to call with an `EpochEnd` after each epoch. True stops that attempt.
        chart: A folder to record every attempt in.
        resume: Whether to resume the repair in that folder.
        seed: For the order of the data and for dropout. Your random state is left alone.
        progress: Whether to print a progress bar and what happens.
        console: Where to print.

    Raises:
        UsageError: If an argument is invalid. Nothing has been trained or written then.
    """
    check_model(model, trainable=True)
    check_loss(loss)
    if not isinstance(optimizer, Optimizer):
        optimizer = make_optimizer(optimizer, model)
    epochs = check_int("epochs", epochs, least=1)
    recipe = Recipe(
        model,
        loss,
        optimizer,
        batch_size=batch_size,
        epochs=epochs,
        scheduler=scheduler,
        scheduler_step=scheduler_step,
    )
    return repair(
        recipe,
        data,
        validation=validation,
        target=target,
        metric=metric,
        device=device,
        remedies=remedies,
        budget=budget,
        profile=profile,
        problems=problems,
        strategy=strategy,
        workers=workers,
        callbacks=callbacks,
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
    metric: Metric | None = None,
    device: str | torch.device | None = None,
    remedies: Sequence[str | Remedy] | None = None,
    budget: float | None = None,
    profile: str | None = None,
    problems: Sequence[str | Problem] | None = None,
    strategy: StrategyName | Strategy = "race",
    workers: Workers = None,
    callbacks: Sequence[Callback] | None = None,
    chart: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: bool = True,
    console: Console | None = None,
    learn: bool = True,
) -> Outcome:
    """Do what `fit` does, but start from a recipe, or use a training loop of your own.

    `train(recipe, doctor)` trains `recipe.model` with `recipe.optimizer` and calls the doctor after
    each step and epoch, like any watched loop. It is called again with every repaired recipe. When
    a problem is found, the doctor leaves the loop by raising an exception, so the loop should not
    catch exceptions it does not know. Each call starts with torch, numpy and random seeded with
    `seed`. Such a loop has its own data, so `data`, `validation` and `workers` do not apply. Its
    `metric` is the name of one that it passes to `doctor.epoch`, and it makes and steps its own
    scheduler, with `recipe.scheduler(recipe.optimizer)`.
    `learn` adds the remedies that worked to your odds. `fit` explains the other arguments.
    """
    chosen = check_strategy(strategy)
    workers = _check_call(recipe, train, data, validation, workers)
    path = check_output(chart, resume, progress, console, learn)
    recipe = replace(recipe, epochs=50 if recipe.epochs is None else recipe.epochs)
    choices = choose_remedies(remedies, chosen.remedies())
    looked_for = problems_for(chosen, profile, problems)
    settings = _settings(recipe, choices, chosen, looked_for, target, device, seed)
    settings = replace(settings, metric=check_metric(metric, own_loop=train is not None))
    called = check_callbacks(callbacks)
    samples = None
    if train is None:
        samples = Data.of(
            data,
            validation,
            batch_size=recipe.batch_size,
            seed=settings.seed,
            device=settings.device,
            dtype=next(recipe.model.parameters()).dtype,
        )
        if metric is None:
            usual = usual_metric(recipe.model, recipe.loss, samples)
            settings = replace(settings, metric=usual)
        check_fit(recipe.model, samples, recipe.loss, settings.target, settings.metric)
        recipe = with_data(recipe, samples)
    recipe = recipe.on(settings.device)
    limit, most = budgets(chosen, recipe, settings.epochs, budget)
    executor = choose_executor(recipe, samples, settings, train, workers)
    keys = {problem: [each.key for each in some] for problem, some in choices.items()}
    more = {"strategy": chosen, "budget": (limit, most), "remedies": keys, "train": train}
    mark = partial(fingerprint, recipe, samples, settings, **more)
    journal = Journal(path, resume, mark, settings.epochs if progress else None, console)
    if samples is not None and not samples.held_out:
        journal.say("no samples are held out: scores are on the training data.")
    if count := hooks_of(recipe.optimizer):
        journal.say(
            f"{count} step hooks of the optimizer are left out: attempts train copies of it."
        )
    counted = recipe.scheduler is not None and recipe.scheduler_step == "batch"
    fixed = counted or (samples is not None and samples.fixed_batches)
    yardsticks = Yardsticks(samples, settings.metric, journal.say)
    search = Search(
        recipe, settings, executor, journal, choices, limit, most, yardsticks, fixed, called
    )
    with journal, search:
        outcome = chosen.run(search)
        if samples is not None:
            outcome = replace(outcome, held_out=samples.held_out)
    if learn:
        search.save_counts()
    journal.close(outcome)
    return outcome


def _check_call(
    recipe: Recipe, train: Train | None, data: Any, validation: Any, workers: Workers
) -> Workers:
    """Check arguments that exclude each other. Return `workers`, None for this process."""
    if not isinstance(recipe, Recipe):
        raise bad_argument("recipe", "a sickbay.Recipe", recipe)
    if train is None and data is None:
        raise UsageError("repair needs data, or train= with a loop of your own; got neither.")
    if workers is not None and not (isinstance(workers, str) and workers == "ray"):
        if isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1:
            raise bad_argument("workers", "a number from 1 on, 'ray' or None", workers)
        workers = None if workers == 1 else int(workers)
    if train is not None:
        check_train(train, data=data, validation=validation, workers=workers)
    check_model(recipe.model, trainable=True)
    check_loss(recipe.loss)
    check_optimizer(recipe.optimizer, recipe.model)
    if recipe.scheduler is not None:
        assert not isinstance(recipe.scheduler, LRScheduler)  # a recipe makes it a function
        check_scheduler(recipe.scheduler, recipe.optimizer, recipe.scheduler_step)
    return workers


def _settings(
    recipe: Recipe,
    choices: Mapping[str, Sequence[Remedy]],
    strategy: Strategy,
    problems: Sequence[Problem],
    target: float | None,
    device: str | torch.device | None,
    seed: int,
) -> RunSettings:
    if device is None:
        device = next(recipe.model.parameters()).device
    assert recipe.epochs is not None
    return RunSettings(
        problems=problems,
        treatable={problem for problem, remedies in choices.items() if remedies},
        epochs=recipe.epochs,
        target=None if target is None else check_float("target", target, infinite=True),
        device=str(check_device("device", device)),
        seed=check_seed(seed),
        check_every=strategy.check_every,
    )


def with_data(recipe: Recipe, samples: Data) -> Recipe:
    """Return a recipe that knows its data, and has the batch size of a DataLoader."""
    size, good = samples.batch_size or recipe.batch_size, samples.without_bad_samples()
    return replace(
        recipe,
        batch_size=size,
        example=samples.example(min(32, size)),
        inputs=good.statistics(),
        targets=samples.targets(),
        samples=samples.size or 0,
        bad_samples=good.size != samples.size,
    )
