"""How every fault works: inside a `with` block, at given steps, and gone afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import bad_argument, check_int
from sickbay.model_arguments import check_module, check_optimizer, unwrap_compiled


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
    def at_steps(cls, at: object, every: int | None = None) -> When:
        """Return `at` these steps, and `every` so many after the first."""
        steps = at if isinstance(at, Sequence) and not isinstance(at, str | bytes) else [at]
        if not steps:
            raise bad_argument("at", "a step or several, counted from 0", at)
        checked = tuple(check_int("at", step, least=0) for step in steps)
        return cls(checked, None if every is None else check_int("every", every, least=1))

    @classmethod
    def from_step(cls, at: int) -> When:
        """Return `at` this step and all after it."""
        return cls((check_int("at", at, least=0),), lasting=True)

    def due(self, step: int) -> bool:
        first = min(self.at)
        if self.lasting:
            return step >= first
        repeated = self.every is not None and step > first and (step - first) % self.every == 0
        return repeated or step in self.at


class Injection:
    """A fault that acts while its `with` block runs.

    Attributes:
        step: The next optimizer step, counted from 0 when the block begins.
        steps: The steps at which it acted; for a fault that lasts, the first.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        when: When,
        hook: Callable[[Injection], Iterable[RemovableHandle]],
        *,
        once: bool = False,
        undo: Callable[[], None] = lambda: None,
    ) -> None:
        self.step = 0
        self.steps: list[int] = []
        self._optimizer, self._when, self._once = check_optimizer(optimizer), when, once
        self._hook, self._undo = hook, undo
        self._hooks = ExitStack()

    def acts(self) -> bool:
        """Return whether the fault is to act now, and note that it does.

        A fault that acts `once` does so once per step, however many batches the step has. This also
        stops it when a gradient scaler drops the step because of it, as that step is never counted.
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
            for handle in self._hook(self):
                hooks.callback(handle.remove)
            self._hooks = hooks.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._hooks.close()
        self._undo()

    def _count(self, *_: Any) -> None:
        self.step += 1


ModelCall: TypeAlias = Callable[[Any, Any], Any]  # of the arguments and keyword arguments


class ModelHook:
    """A forward pre-hook, for training passes only.

    A copied or pickled model carries it along as a function that does nothing.
    """

    def __init__(self, call: ModelCall) -> None:
        self.call = call

    def add_to(self, model: nn.Module) -> RemovableHandle:
        # First in line: for all other hooks the loop has called the model like this.
        return model.register_forward_pre_hook(self, prepend=True, with_kwargs=True)

    def __call__(self, model: nn.Module, args: Any, kwargs: Any) -> Any:
        return self.call(args, kwargs) if model.training and torch.is_grad_enabled() else None

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


def check_target(model: object, optimizer: object) -> nn.Module:
    """Return the model without its compiler; raise `UsageError` unless the optimizer is its own."""
    module = check_module(model)
    check_optimizer(optimizer, module)
    return unwrap_compiled(module)


def check_value(value: float) -> float:
    """Return the value; raise `UsageError` unless it is NaN or infinite."""
    if not isinstance(value, float) or isfinite(value):
        raise bad_argument("value", "nan, inf or -inf", value)
    return value


def with_first(tensor: Tensor, value: float) -> Tensor:
    """Return a copy with `value` as its first element.

    >>> with_first(torch.ones(2, 2), 5.0).tolist()
    [[5.0, 1.0], [1.0, 1.0]]
    """
    if tensor.layout is not torch.strided:
        tensor = tensor.coalesce()
        places, values = tensor.indices(), with_first(tensor.values(), value)
        return torch.sparse_coo_tensor(places, values, tensor.shape, check_invariants=False)
    copy = tensor.clone()
    if copy.numel():
        copy[(0,) * copy.ndim] = value
    return copy
