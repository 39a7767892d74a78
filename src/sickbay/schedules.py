"""Learning-rate schedules: torch's schedulers, made again for any optimizer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from sickbay.arguments import bad_argument, short_repr
from sickbay.errors import UsageError
from sickbay.printable import raising

MakeScheduler: TypeAlias = Callable[[Optimizer], LRScheduler]
RULE = "a torch scheduler, or a function that makes one from an optimizer"
# What schedulers keep: in the groups of their optimizer, and in lists with an item per group.
GROUP_RATES = ("lr", "initial_lr", "max_lr", "min_lr", "swa_lr")
KEPT = (*GROUP_RATES, "base_momentum", "max_momentum")
LISTED_RATES = ("base_lrs", "max_lrs", "_last_lr")
LISTED = (*LISTED_RATES, "min_lrs", "lr_lambdas", "base_momentums", "max_momentums")


class Unbound:
    """Stands for the optimizer in a scheduler that belongs to none."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """A torch scheduler as a function: it makes the same scheduler again for another optimizer.

    Its rates are scaled to those of that optimizer.

    Attributes:
        scheduler: A copy of the scheduler as it was given.
        unbound: What it has in place of an optimizer.
        groups: The settings of the groups of its optimizer.
        rates: The highest learning rate of each group.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    >>> schedule = Schedule.of(torch.optim.lr_scheduler.StepLR(optimizer, 5), optimizer)
    >>> schedule(torch.optim.Adam(optimizer.param_groups[0]["params"], lr=0.002)).base_lrs
    [0.002]
    """

    scheduler: LRScheduler
    unbound: Unbound
    groups: Sequence[dict[str, Any]]
    rates: Sequence[Any]

    @classmethod
    def of(cls, scheduler: LRScheduler, optimizer: Optimizer) -> Schedule:
        """Return the schedule of a scheduler, which stays as it is."""
        kind = type(scheduler).__name__
        if scheduler.optimizer is not optimizer:
            raise UsageError(
                f"scheduler must be made from the optimizer that is given, got a {kind} of "
                "another one; a function that makes it from an optimizer will do as well."
            )
        unbound = Unbound()
        with raising(UsageError, f"scheduler must be one that can be copied, got {kind}"):
            copied = copy.deepcopy(scheduler, {id(optimizer): unbound})
        groups = [
            copy.deepcopy({name: value for name, value in group.items() if name in KEPT})
            for group in optimizer.param_groups
        ]
        return cls(copied, unbound, groups, _highest_rates(copied, groups))

    def unscheduled(self, optimizer: Optimizer) -> Optimizer:
        """Return the optimizer of the scheduler as it was before. They share their state."""
        plain = copy.copy(optimizer)
        plain.param_groups = [
            {name: value for name, value in group.items() if name not in KEPT} | {"lr": rate}
            for group, rate in zip(optimizer.param_groups, self.rates, strict=True)
        ]
        return plain

    def __call__(self, optimizer: Optimizer) -> LRScheduler:
        """Return the scheduler for an optimizer, whose rates become those of the schedule."""
        groups = optimizer.param_groups
        same = len(groups) == len(self.groups)
        places = [place if same else 0 for place in range(len(groups))]
        rates = [(self.rates[at], group["lr"]) for at, group in zip(places, groups, strict=True)]
        scheduler: LRScheduler = copy.deepcopy(self.scheduler, {id(self.unbound): optimizer})
        for group, place, pair in zip(groups, places, rates, strict=True):
            for name, value in copy.deepcopy(self.groups[place]).items():
                group[name] = _scaled(value, pair) if name in GROUP_RATES else value
        for each in parts(scheduler):
            self._adapt(vars(each), places, rates, optimizer.defaults)
        _Tracker(optimizer)
        return scheduler

    def _adapt(
        self,
        own: dict[str, Any],
        places: Sequence[int],
        rates: Sequence[tuple[Any, Any]],
        defaults: dict[str, Any],
    ) -> None:
        """Fit what a scheduler keeps for each group to the groups of another optimizer."""
        for name in LISTED:
            values = own.get(name)
            if isinstance(values, list) and len(values) == len(self.groups):
                own[name] = [values[place] for place in places]
                if name in LISTED_RATES:
                    own[name] = [_scaled(*each) for each in zip(own[name], rates, strict=True)]
        if own.get("cycle_momentum"):
            own["use_beta1"] = "betas" in defaults


class _Tracker(LRScheduler):
    """Makes an optimizer note its steps, which schedulers made for it expect. Does nothing else."""

    def _initial_step(self) -> None:
        pass


def make_scheduler(make: MakeScheduler, optimizer: Optimizer) -> LRScheduler:
    """Return the scheduler that a function makes. Raise `UsageError` if it makes none."""
    with raising(UsageError, "scheduler must make a scheduler from an optimizer, but raised"):
        made = make(optimizer)
    if not isinstance(made, LRScheduler):
        raise UsageError(
            f"scheduler must return a torch.optim.lr_scheduler.LRScheduler, got "
            f"{type(made).__name__}."
        )
    if made.optimizer is not optimizer:
        raise UsageError("scheduler must use the optimizer that it is called with, got another.")
    return made


def check_scheduler(make: MakeScheduler, optimizer: Optimizer, step: str) -> None:
    """Raise `UsageError` unless a function makes a scheduler that can be stepped so often."""
    tried = copy.copy(optimizer)
    tried.param_groups = [dict(group) for group in optimizer.param_groups]
    made = make_scheduler(make, tried)
    if step == "batch" and isinstance(made, ReduceLROnPlateau):
        raise bad_argument(
            "scheduler_step", "'epoch' for ReduceLROnPlateau, which needs the validation loss", step
        )


def schedule_code(make: object, optimizer: Optimizer) -> str:
    """Return a schedule as code, with the settings that are known and not its defaults.

    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    >>> step = torch.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5)
    >>> schedule_code(Schedule.of(step, optimizer), optimizer)
    'torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)'
    """
    if not isinstance(make, Schedule):
        return str(getattr(make, "__name__", make))
    plain = copy.copy(optimizer)
    plain.param_groups = [dict(group) for group in optimizer.param_groups]
    scheduler = make(plain)
    known = plain.param_groups[0] | vars(scheduler)
    settings = []
    for name, parameter in signature(type(scheduler)).parameters.items():
        value = known.get(name, (known.get(f"{name}s") or [None])[0])
        shown = isinstance(value, bool | int | float | str | list | tuple)
        if shown and value != parameter.default and name != "last_epoch":
            text = f"{value:g}" if isinstance(value, float) else short_repr(value)
            settings.append(f"{name}={text}")
    kind = type(scheduler)
    where = "torch.optim.lr_scheduler." if kind.__module__.startswith("torch.optim") else ""
    return f"{where}{kind.__name__}({', '.join(['optimizer', *settings])})"


def parts(scheduler: LRScheduler) -> Iterator[LRScheduler]:
    """Yield a scheduler and those it is made of."""
    yield scheduler
    for each in getattr(scheduler, "_schedulers", ()):
        yield from parts(each)


def _highest_rates(scheduler: LRScheduler, groups: Sequence[dict[str, Any]]) -> list[Any]:
    """Return what counts as the learning rate of each group: the one that a schedule scales."""
    peaks = next((each.max_lrs for each in parts(scheduler) if hasattr(each, "max_lrs")), None)
    return [
        group.get("max_lr", peaks[place] if peaks else group.get("initial_lr", group["lr"]))
        for place, group in enumerate(groups)
    ]


def _scaled(value: Any, rates: tuple[Any, Any]) -> Any:
    """Return a rate that has the same share of the new rate that it had of the one before."""
    before, now = rates
    if before == now:
        return value
    return now if not before or value == before else value * (now / before)
