"""Real searches, trained here and now: plain beside `tuning`, in equal time.

Both try the same configurations in the same order with the same seeds, so that a trial is the same
in both until it is ended. What the judge makes of the plain trials afterwards tells whether
searches that are played are like those that are lived.
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
from benchmarks.tuning.diagnosis import Diagnosis, Histories
from benchmarks.tuning.part import Part
from benchmarks.tuning.record import DECAY, Plan, evaluate, is_read, newest, pass_through
from benchmarks.tuning.search import Played, play
from benchmarks.tuning.searchers import distribution
from benchmarks.tuning.spaces import SPACES, Config, draw
from benchmarks.tuning.tasks import TASKS, Data, optimizer_of
from sickbay.doctor import Doctor
from sickbay.problems.profiles import PROFILES
from sickbay.problems.trials.never_learnt import FIRST
from sickbay.tuning.optuna import OptunaDoctor, watch
from sickbay.tuning.recorded_search import Epoch, RecordedTrial


@dataclass(frozen=True)
class Less:
    """What a quick search is content with: samples, and what sizes of models are divided by."""

    samples: int
    held: int  # to judge by
    divided: Mapping[str, int]


EPOCHS = 10  # of a quick one
QUICK = {
    "cifar10_cnn": Less(1500, 500, {f"conv{place}": 4 for place in (1, 2, 3, 4)}),
    "cifar10_lstm": Less(3000, 500, {"hidden": 4}),
    "ex96_trans": Less(96, 60, {"model_width": 8, "inner_width": 8, "heads": 4}),
}


class Order(NamedTuple):
    """One search."""

    plan: Plan
    quick: bool
    seconds: float
    tuned: bool


class Lived(NamedTuple):
    """One trial: its values, how long it took, and how much of that was watching."""

    seed: int
    values: list[float]
    ends: list[float]  # when each epoch was over, since the search began
    seconds: float
    watching: float
    why: str = ""
    benign: bool = False
    recorded: RecordedTrial | None = None


@dataclass
class Loop:
    """A trial in training: what happens in it, epoch by epoch."""

    order: Order
    data: Data
    config: Config
    doctor: Doctor
    model: nn.Module
    optimizer: Optimizer
    setting_up: float  # seconds until it was watched
    ending: float = 0.0  # seconds that the doctor took at the ends of epochs

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


def search(order: Order) -> list[Lived]:
    """Try configurations until the time is over; the last trial is cut short then."""
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    data, task = data_of(order), TASKS[order.plan.task]
    study = optuna.create_study(
        direction=task.direction,
        pruner=optuna.pruners.NopPruner(),  # without one, Optuna takes its MedianPruner
    )
    begin = perf_counter()
    lived = []
    for seed in count():
        if perf_counter() - begin >= order.seconds:
            break
        lived.append((tuned if order.tuned else plain)(order, data, seed, begin, study))
    return lived


def tuned(order: Order, data: Data, seed: int, begin: float, study: optuna.Study) -> Lived:
    """Live through a trial that may be ended."""
    space = {name: distribution(each) for name, each in SPACES[order.plan.task].items()}
    metric = TASKS[order.plan.task].metric
    study.enqueue_trial(draw(SPACES[order.plan.task], seed))
    trial = study.ask(space)
    start = perf_counter()
    admit = partial(watch, trial, epochs=order.plan.epochs, metric=metric)
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
    benign = {each.name() for each in PROFILES["tuning"] if each.benign}
    if doctor.diagnosis is not None:
        why = doctor.diagnosis.problem
    return Lived(seed, values, ends, seconds, watching, why, why in benign)


def plain(order: Order, data: Data, seed: int, begin: float, _study: optuna.Study) -> Lived:
    """Live through a trial that goes to its end, and record it."""
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
    return Lived(seed, values, ends, seconds, loop.watching(seconds), recorded=recorded)


def looped(
    order: Order, data: Data, config: Config, seed: int, admit: Callable[..., Doctor]
) -> Loop:
    """Return a trial that is ready to be trained, and watched."""
    torch.manual_seed(seed)
    model = TASKS[order.plan.task].build(made_small(order, config))
    optimizer = optimizer_of(config, model)
    start = perf_counter()
    doctor = admit(model=model, optimizer=optimizer)
    return Loop(order, data, config, doctor, model, optimizer, perf_counter() - start)


def made_small(order: Order, config: Config) -> Config:
    """Return the sizes that are trained."""
    divided = QUICK[order.plan.task].divided if order.quick else {}
    return {
        name: each // divided[name] if name in divided else each for name, each in config.items()
    }


@cache
def data_of(order: Order) -> Data:
    data, less = TASKS[order.plan.task].load(order.plan.folder), QUICK[order.plan.task]
    if not order.quick:
        return data
    x, y, x_val, y_val = data.x, data.y, data.x_val, data.y_val
    return Data(x[: less.samples], y[: less.samples], x_val[: less.held], y_val[: less.held])


class InOrder:
    """Tries one after another."""

    def ask(self, left: Sequence[int]) -> int:
        return left[0]

    def tell(self, trial: int, score: float) -> None:
        pass


def foretold(task: str, lived: Sequence[Lived], epochs: int) -> dict[int, Played]:
    """Play the recorded plain trials; return by their seeds what `tuning` would have done."""
    whole = [each.recorded for each in lived if len(each.values) == epochs]
    part = Part(task, tuple(each for each in whole if each is not None))
    rule = Diagnosis(part, PROFILES["tuning"], Histories(part))
    if not part.trials:
        return {}
    past = play(part, InOrder(), rule, part.budget(len(part.trials)) + 1)
    return {part.trials[each.trial].about["seed"]: each for each in past}
