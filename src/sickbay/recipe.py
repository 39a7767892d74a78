"""A recipe: everything about a training run that a remedy may change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from sickbay.arguments import (
    bad_argument,
    check_bool,
    check_callable,
    check_choice,
    check_float,
    check_int,
)
from sickbay.errors import Declined, UsageError
from sickbay.model_arguments import check_device, check_module, check_optimizer
from sickbay.optimizers import make_again, optimizer_code, optimizer_for
from sickbay.printable import raising
from sickbay.schedules import RULE, MakeScheduler, Schedule, schedule_code
from sickbay.vitals import Setup

Loss: TypeAlias = Callable[..., Tensor]
SchedulerStep: TypeAlias = Literal["epoch", "batch"]
HOW = {  # how to carry out settings that have no argument in torch
    "clip_norm": "clip_grad_norm_(model.parameters(), clip_norm) after backward()",
    "clip_value": "clip_grad_value_(model.parameters(), clip_value) after backward()",
    "warmup": "steps over which the learning rate rises from 0",
    "patience": "epochs without a better loss before the learning rate is halved",
    "cooldown": "more epochs, at a tenth of the learning rate",
    "skip_bad_batches": "skip the step if a gradient is not finite",
    "train_mode": "model.train() before each epoch",
    "rollbacks": "times to go back to the last healthy weights",
    "scheduler_step": "how often scheduler.step() is called",
}


@dataclass(frozen=True)
class Recipe:
    """A model, its loss, its optimizer and how to train them.

    A recipe never changes. Methods return a changed one, and training uses a `copy`.

    Attributes:
        model: The model, with its initial weights.
        loss: A module, or a function of outputs and targets.
        optimizer: The model's optimizer. Only its settings matter.
        batch_size: Samples in a batch.
        epochs: Planned epochs, if known.
        scheduler: A function that makes a scheduler of the learning rate from an optimizer, if any.
            A torch scheduler of the optimizer becomes such a function.
        scheduler_step: When the scheduler steps: after each "epoch" or each "batch".
        clip_norm: The norm to clip the gradients to, if any.
        clip_value: The size to clip each gradient value to, if any.
        warmup: Steps over which the learning rate rises from 0.
        patience: Epochs without a better loss before the learning rate is halved. 0 means never.
        cooldown: Epochs after the planned ones, at a tenth of the learning rate.
        skip_bad_batches: Whether to skip batches whose gradients are not finite.
        train_mode: Whether to put the model into training mode before each step.
        rollbacks: How often the weights may go back to the last healthy ones.
        clean_data: Whether to leave out samples that are not finite, or absurdly large.
        code: The changes so far, as code to paste.
        example: The inputs of a few samples, to call the model with.
        inputs: Mean and standard deviation of each input feature, if they are numbers.
        targets: Targets of many samples.
        samples: The number of training samples, 0 if it is not known.
        bad_samples: Whether some samples are not finite, or absurdly large.
        setup: What is known about model and task.

    >>> from torch import optim
    >>> model = nn.Linear(2, 1)
    >>> recipe = Recipe(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1))
    >>> print(recipe.diff(replace(recipe.with_lr(0.01), clip_norm=1.0)))
    - optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    + optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    + clip_norm = 1.0  # clip_grad_norm_(model.parameters(), clip_norm) after backward()
    """

    model: nn.Module
    loss: Loss
    optimizer: Optimizer
    _: KW_ONLY
    batch_size: int = 32
    epochs: int | None = None
    scheduler: LRScheduler | MakeScheduler | None = None
    scheduler_step: SchedulerStep = "epoch"
    clip_norm: float | None = None
    clip_value: float | None = None
    warmup: int = 0
    patience: int = 0
    cooldown: int = 0
    skip_bad_batches: bool = False
    train_mode: bool = False
    rollbacks: int = 0
    clean_data: bool = False
    code: tuple[str, ...] = ()
    example: tuple[Tensor, ...] = field(default=(), repr=False)
    inputs: tuple[Tensor, Tensor] | None = field(default=None, repr=False)
    targets: Tensor | None = field(default=None, repr=False)
    samples: int = 0
    bad_samples: bool = False
    setup: Setup = field(default_factory=Setup, repr=False)

    def __post_init__(self) -> None:
        check_module(self.model)
        if not callable(self.loss):
            raise bad_argument("loss", "a module or a function", self.loss)
        check_optimizer(self.optimizer)
        if not any(group["params"] for group in self.optimizer.param_groups):
            given = f"{type(self.optimizer).__name__} with none"
            raise UsageError(f"optimizer must hold parameters, got {given}.")
        if isinstance(self.scheduler, LRScheduler):
            schedule = Schedule.of(self.scheduler, self.optimizer)
            object.__setattr__(self, "scheduler", schedule)
            object.__setattr__(self, "optimizer", schedule.unscheduled(self.optimizer))
        for name, value in _checked(self):
            object.__setattr__(self, name, value)  # frozen, but still being made

    @property
    def lr(self) -> float:
        """The learning rate of the first group."""
        try:
            return float(self.optimizer.param_groups[0]["lr"])
        except (KeyError, TypeError, ValueError, RuntimeError):
            kind = type(self.optimizer).__name__
            raise Declined(f"The optimizer {kind} has no learning rate.") from None

    def copy(self) -> Recipe:
        """Return the same recipe with its own model, loss and optimizer."""
        kind = type(self.model).__name__
        with raising(UsageError, f"model must be one that can be copied, got {kind}"):
            model, loss, optimizer = copy.deepcopy((self.model, self.loss, self.optimizer))
        return replace(self, model=model, loss=loss, optimizer=optimizer)

    def on(self, device: Any) -> Recipe:
        """Return the recipe on a device: itself if it is there already, else a copy."""
        wanted = check_device("device", device)
        if all(each.device == wanted for each in self.model.parameters()):
            return self
        moved = self.copy()
        for part in (moved.model, moved.loss):
            if isinstance(part, nn.Module):
                part.to(device)
        return moved

    def but(self, *code: str, **changes: Any) -> Recipe:
        """Return the recipe with some changes, and the code that makes them."""
        for name in changes:
            check_choice("part of a recipe", name, self.__dataclass_fields__)
        return replace(self, code=(*self.code, *code), **changes)

    def with_model(self, model: nn.Module, *code: str) -> Recipe:
        """Return the recipe with another model, and an optimizer for it."""
        check_module(model)
        return self.but(
            *code, model=model, optimizer=optimizer_for(model, self.model, self.optimizer)
        )

    def with_lr(self, lr: float, *code: str) -> Recipe:
        """Return the recipe with another learning rate, scaled alike in all groups."""
        lr = check_float("lr", lr, least=0)
        groups = [
            {**group, "lr": lr / self.lr * float(group["lr"]) if self.lr else lr}
            for group in self.optimizer.param_groups
        ]
        for group in groups:
            group.pop("initial_lr", None)  # of an earlier schedule, which a new one would take up
        return self.but(*code, optimizer=make_again(type(self.optimizer), groups))

    def with_settings(self, *code: str, **settings: Any) -> Recipe:
        """Return the recipe with other settings in all groups of the optimizer."""
        groups = [{**group, **settings} for group in self.optimizer.param_groups]
        return self.but(*code, optimizer=make_again(type(self.optimizer), groups))

    def with_optimizer(self, kind: Callable[..., Optimizer], *code: str, **settings: Any) -> Recipe:
        """Return the recipe with another optimizer over the same parameters."""
        check_callable("kind", kind)
        held = [each for group in self.optimizer.param_groups for each in group["params"]]
        return self.but(*code, optimizer=make_again(kind, held, **settings))

    def diff(self, other: Recipe) -> str:
        """Return the change from this recipe to another, as code."""
        if not isinstance(other, Recipe):
            raise bad_argument("other", "a sickbay.Recipe", other)
        return "\n".join(_differences(self, other)) or "no change"


def _checked(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a recipe as plain values. Raise `UsageError` if one is invalid."""
    yield "batch_size", check_int("batch_size", recipe.batch_size, least=1)
    if recipe.epochs is not None:
        yield "epochs", check_int("epochs", recipe.epochs, least=1)
    for name in ("clip_norm", "clip_value"):
        if (limit := getattr(recipe, name)) is not None:
            yield name, check_float(name, limit, above=0, infinite=True)
    for name in ("warmup", "patience", "cooldown", "rollbacks"):
        yield name, check_int(name, getattr(recipe, name), least=0)
    for name in ("skip_bad_batches", "train_mode", "clean_data", "bad_samples"):
        yield name, check_bool(name, getattr(recipe, name))
    if recipe.scheduler is not None and not callable(recipe.scheduler):
        raise bad_argument("scheduler", RULE, recipe.scheduler)
    check_choice("scheduler_step", recipe.scheduler_step, get_args(SchedulerStep))
    code, inputs, targets = recipe.code, recipe.inputs, recipe.targets
    if not (isinstance(code, tuple) and all(isinstance(line, str) for line in code)):
        raise bad_argument("code", "a tuple of lines", code)
    if not isinstance(recipe.example, tuple):
        raise bad_argument("example", "a tuple of the model's arguments", recipe.example)
    pair = isinstance(inputs, tuple) and len(inputs) == 2
    if not (inputs is None or (pair and all(isinstance(each, Tensor) for each in inputs))):
        raise bad_argument("inputs", "a tensor of means and one of deviations, or None", inputs)
    if not isinstance(targets, Tensor | None):
        raise bad_argument("targets", "a tensor or None", targets)
    if not isinstance(recipe.setup, Setup):
        raise bad_argument("setup", "a sickbay.vitals.Setup", recipe.setup)


def _settings(recipe: Recipe) -> Mapping[str, str]:
    """Return the settings that fit on a line each."""
    loss = recipe.loss
    kind = f"nn.{loss}" if type(loss).__module__.startswith("torch.nn") else repr(loss)
    optimizer = optimizer_code(recipe.optimizer)
    held = sum(len(group["params"]) for group in recipe.optimizer.param_groups)
    total = sum(each.requires_grad for each in recipe.model.parameters())
    if held < total:
        optimizer = optimizer.replace("model.parameters()", f"{held} of {total} parameters")
    scheduler = schedule_code(recipe.scheduler, recipe.optimizer)
    named = {
        "loss": getattr(loss, "__name__", kind),
        "optimizer": optimizer,
        "scheduler": scheduler,
    }
    plain = (
        "scheduler_step", "batch_size", "clip_norm", "clip_value", "warmup", "patience", "epochs",
        "cooldown", "skip_bad_batches", "train_mode", "rollbacks",
    )  # fmt: skip
    return named | {name: repr(getattr(recipe, name)) for name in plain}


def _differences(old: Recipe, new: Recipe) -> Iterator[str]:
    lines = new.code[len(old.code) :] if new.code[: len(old.code)] == old.code else new.code
    yield from (f"+ {line}" for line in lines if line.startswith(("good =", "model =", "loss.")))
    before, after = _settings(old), _settings(new)
    unset = {"None", "0", "False"}
    for name in before:
        if before[name] != after[name]:
            if before[name] not in unset:
                yield f"- {name} = {before[name]}"
            if after[name] not in unset:
                how = f"  # {HOW[name]}" if name in HOW else ""
                yield f"+ {name} = {after[name]}{how}"
