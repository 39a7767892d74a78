"""Real searches: plain beside profiles that end trials, in equal time or with as many trials.

All try the same configurations in the same order with the same seeds, so a trial is the same in
all until it is ended. Judging the recorded plain trials afterwards shows whether simulated
searches are like real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from time import perf_counter
from typing import NamedTuple

import optuna
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ExponentialLR

import sickbay
from benchmarks.tuning.diagnosis_rule import Diagnosis, Histories
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.record_pool import DECAY, Plan, evaluate, is_read, newest, pass_through
from benchmarks.tuning.search_spaces import SPACES, Config, draw
from benchmarks.tuning.searchers import distribution
from benchmarks.tuning.simulated_search import SimulatedTrial, simulate
from benchmarks.tuning.tasks import TASKS, Data, optimizer_of
from sickbay.doctor import Doctor
from sickbay.problems.profiles import PROFILES
from sickbay.problems.trials.never_learnt import FIRST
from sickbay.tuning.optuna import OptunaDoctor, watch
from sickbay.tuning.recorded_search import Epoch, RecordedTrial


@dataclass(frozen=True)
class Less:
    """How a quick search is reduced: samples, and divisors of the model sizes."""

    samples: int
    held: int  # validation samples
    divided: Mapping[str, int]


EPOCHS = 10  # of a quick search
QUICK = {
    "cifar10_cnn": Less(1500, 500, {f"conv{place}": 4 for place in (1, 2, 3, 4)}),
    "cifar10_lstm": Less(3000, 500, {"hidden": 4}),
    "ex96_trans": Less(96, 60, {"model_width": 8, "inner_width": 8, "heads": 4}),
    "ex96_paper": Less(96, 60, {"model_width": 8, "inner_width": 8, "heads": 4}),
}


class LiveSearch(NamedTuple):
    """What one search does."""

    plan: Plan
    quick: bool
    seconds: float
    rule: str  # "plain", or the profile that ends trials
    trials: int | None = None  # try so many, instead of as many as the time allows


class LiveTrial(NamedTuple):
    """One trial: its values, its duration, and how much of that was spent on watching."""

    seed: int
    values: list[float]
    ends: list[float]  # of the epochs, in seconds since the search began
    seconds: float
    watching: float
    why: str = ""
    benign: bool = False
    recorded: RecordedTrial | None = None


@dataclass
class Loop:
    """The training loop of a trial."""

    order: LiveSearch
    data: Data
    config: Config
    doctor: Doctor
    model: nn.Module
    optimizer: Optimizer
    setting_up: float  # seconds to set up the doctor
    ending: float = 0.0  # seconds spent in doctor.epoch

    def epochs(self) -> Iterator[dict[str, float]]:
        """Train; yield what was evaluated after each epoch."""
        task = TASKS[self.order.plan.task]
        schedule = ExponentialLR(self.optimizer, DECAY)
        size = self.config["batch_size"]
        for _ in range(self.order.plan.epochs):
            for loss in pass_through(self.model, self.optimizer, self.data, size, task.loss):
                self.doctor.step(loss)
            schedule.step()
            yield evaluate(self.model, self.data, task.loss)

    def over(self, metrics: dict[str, float]) -> None:
        """Tell the doctor that an epoch is over."""
        start = perf_counter()
        try:
            self.doctor.epoch(**metrics)
        finally:
            self.ending += perf_counter() - start

    def watching(self, seconds: float) -> float:
        """Return how many of the seconds of the trial were spent on watching it."""
        return self.setting_up + self.ending + self.doctor.overhead * seconds


def search(order: LiveSearch) -> list[LiveTrial]:
    """Try configurations until the time is over, which cuts the last trial short."""
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    data, task = data_of(order), TASKS[order.plan.task]
    study = optuna.create_study(
        direction=task.direction,
        pruner=optuna.pruners.NopPruner(),  # the default is MedianPruner
    )
    begin = perf_counter()
    lived = []
    train = plain if order.rule == "plain" else ended
    for seed in count() if order.trials is None else range(order.trials):
        if perf_counter() - begin >= order.seconds:
            break
        lived.append(train(order, data, seed, begin, study))
    return lived


def ended(order: LiveSearch, data: Data, seed: int, begin: float, study: optuna.Study) -> LiveTrial:
    """Train a trial that may be ended."""
    space = {name: distribution(each) for name, each in SPACES[order.plan.task].items()}
    metric = TASKS[order.plan.task].metric
    study.enqueue_trial(draw(SPACES[order.plan.task], seed))
    trial = study.ask(space)
    start = perf_counter()
    admit = partial(watch, trial, epochs=order.plan.epochs, metric=metric, profile=order.rule)
    loop = looped(order, data, trial.params, seed, admit)
    doctor = loop.doctor
    assert isinstance(doctor, OptunaDoctor)
    values: list[float] = []
    ends: list[float] = []
    why = ""
    try:
        for metrics in loop.epochs():
            values.append(metrics[metric])
            ends.append(perf_counter() - begin)
            loop.over(metrics)
            if doctor.done or perf_counter() - begin >= order.seconds:
                break
        study.tell(trial, doctor.result())
    except optuna.TrialPruned:
        why = "pruner"
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    doctor.close()
    seconds = perf_counter() - start
    watching = loop.watching(seconds)
    benign = {each.name() for each in PROFILES[order.rule] if each.benign}
    if doctor.diagnosis is not None:
        why = doctor.diagnosis.problem
    return LiveTrial(seed, values, ends, seconds, watching, why, why in benign)


def plain(
    order: LiveSearch, data: Data, seed: int, begin: float, _study: optuna.Study
) -> LiveTrial:
    """Train a trial to its end, and record it."""
    plan, config = order.plan, draw(SPACES[order.plan.task], seed)
    steps = -(-len(data.x) // config["batch_size"])
    start = perf_counter()
    admit = partial(
        sickbay.watch, every=partial(is_read, steps), epochs=plan.epochs, on_finding="silent"
    )
    loop = looped(order, data, config, seed, admit)
    epochs: list[Epoch] = []
    values: list[float] = []
    ends: list[float] = []
    with loop.doctor:
        for metrics in loop.epochs():
            loop.over(metrics)
            history = loop.doctor.history
            scalars = {**metrics, "loss": history.epochs("loss")[-1]}
            epochs.append(Epoch(scalars, newest(history, steps)))
            values.append(metrics[TASKS[plan.task].metric])
            ends.append(perf_counter() - begin)
            if ends[-1] >= order.seconds:
                break
        first = {"loss": history.first("loss", FIRST)}
        recorded = RecordedTrial(
            f"{seed}", history.setup, epochs, {"config": config, "seed": seed}, first
        )
    seconds = perf_counter() - start
    return LiveTrial(seed, values, ends, seconds, loop.watching(seconds), recorded=recorded)


def looped(
    order: LiveSearch, data: Data, config: Config, seed: int, admit: Callable[..., Doctor]
) -> Loop:
    """Return a watched trial that is ready to be trained."""
    torch.manual_seed(seed)
    model = TASKS[order.plan.task].build(made_small(order, config))
    optimizer = optimizer_of(config, model)
    start = perf_counter()
    doctor = admit(model=model, optimizer=optimizer)
    return Loop(order, data, config, doctor, model, optimizer, perf_counter() - start)


def made_small(order: LiveSearch, config: Config) -> Config:
    """Return the configuration with smaller sizes for a quick search."""
    divided = QUICK[order.plan.task].divided if order.quick else {}
    return {
        name: each // divided[name] if name in divided else each for name, each in config.items()
    }


@cache
def data_of(order: LiveSearch) -> Data:
    data, less = TASKS[order.plan.task].load(order.plan.folder), QUICK[order.plan.task]
    if not order.quick:
        return data
    x, y, x_val, y_val = data.x, data.y, data.x_val, data.y_val
    return Data(x[: less.samples], y[: less.samples], x_val[: less.held], y_val[: less.held])


class InOrder:
    """Tries the trials one after another."""

    def ask(self, left: Sequence[int]) -> int:
        return left[0]

    def tell(self, trial: int, score: float) -> None:
        pass


def foretold(
    task: str, lived: Sequence[LiveTrial], epochs: int, rule: str
) -> dict[int, SimulatedTrial]:
    """Simulate a profile on the recorded plain trials; return the trials by seed."""
    whole = [each.recorded for each in lived if len(each.values) == epochs]
    part = Part(task, tuple(each for each in whole if each is not None))
    ending = Diagnosis(part, PROFILES[rule], Histories(part))
    if not part.trials:
        return {}
    past = simulate(part, InOrder(), ending, part.budget(len(part.trials)) + 1)
    return {part.trials[each.trial].about["seed"]: each for each in past}
