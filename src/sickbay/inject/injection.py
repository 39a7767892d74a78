"""What every fault is: at work inside a `with` block, at given steps, and gone afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import bad_argument, check_int
from sickbay.model_arguments import check_optimizer


@dataclass(frozen=True)
class When:
    """The steps at which a fault acts, counted from 0: some, every so many, or all from one on.

    >>> When.at_steps([5, 8]).due(8), When.at_steps(5, every=10).due(25), When.from_step(5).due(6)
    (True, True, True)
    """

    at: tuple[int, ...]
    every: int | None = None
    lasting: bool = False

    @classmethod
    def at_steps(cls, at: int | Sequence[int], every: int | None = None) -> When:
        """Return when it is `at` these steps, and `every` so many after the first."""
        return cls(steps_of(at), None if every is None else check_int("every", every, least=1))

    @classmethod
    def from_step(cls, at: int) -> When:
        """Return when it is `at` this step and all after it."""
        return cls((check_int("at", at, least=0),), lasting=True)

    def due(self, step: int) -> bool:
        first = min(self.at)
        if self.lasting:
            return step >= first
        repeated = self.every is not None and step > first and (step - first) % self.every == 0
        return repeated or step in self.at


class Injection(ABC):
    """A fault, at work while its `with` block runs.

    Attributes:
        step: The optimizer step that comes next, counted from 0 when the block begins.
        steps: The steps at which it acted; of a fault that lasts, the first.
    """

    def __init__(self, optimizer: Optimizer, when: When, once: bool = False) -> None:
        self.step = 0
        self.steps: list[int] = []
        self._optimizer, self._when, self._once = check_optimizer(optimizer), when, once
        self._hooks = ExitStack()

    @abstractmethod
    def hook(self) -> Iterator[RemovableHandle]:
        """Hook the fault into the loop."""

    def undo(self) -> None:  # noqa: B027 - most faults have nothing to put back
        """Put back what can be put back."""

    def acts(self) -> bool:
        """Tell whether the fault is to act now, and note that it does.

        One that acts `once` does so once in a step, however many batches the step has. So it also
        ends where a gradient scaler drops the step because of it: that step is never counted.
        """
        done = bool(self.steps) and self.steps[-1] == self.step
        if not self._when.due(self.step) or (done and self._once):
            return False
        if not done and not (self._when.lasting and self.steps):
            self.steps.append(self.step)
        return True

    def __enter__(self) -> Injection:
        self.step, self.steps = 0, []
        with ExitStack() as hooks:
            hooks.callback(self._optimizer.register_step_post_hook(self._count).remove)
            for handle in self.hook():
                hooks.callback(handle.remove)
            self._hooks = hooks.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._hooks.close()
        self.undo()

    def _count(self, *_: Any) -> None:
        self.step += 1


class ModelHook:
    """A forward pre-hook, for training passes only.

    A copied or pickled model carries it along as a function that does nothing.
    """

    def __init__(self, call: Callable[[Any, Any], Any]) -> None:
        self.call = call

    def into(self, model: nn.Module) -> RemovableHandle:
        # First in line: to all others it is as if the loop had called the model like this.
        return model.register_forward_pre_hook(self, prepend=True, with_kwargs=True)

    def __call__(self, model: nn.Module, args: Any, kwargs: Any) -> Any:
        return self.call(args, kwargs) if model.training and torch.is_grad_enabled() else None

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


def steps_of(at: object) -> tuple[int, ...]:
    """Return one step or several."""
    several = isinstance(at, Sequence) and not isinstance(at, str | bytes)
    if several and not at:
        raise bad_argument("at", "a step or several, counted from 0", at)
    return tuple(check_int("at", each, least=0) for each in (at if several else [at]))  # type: ignore[attr-defined]
