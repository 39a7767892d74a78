"""What is changed for the time of one step of an optimizer, and put back however that ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from functools import wraps
from types import MethodType
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sickbay.doctor.snapshots import copied, written
from sickbay.probe.guard import Guard

PUTTING_BACK = "putting back"  # a part of its own, since it goes on if treatment is off
PLAIN = (bool, int, float, str, tuple, type(None), Tensor)  # settings that a step may change


class OptimizerStep:
    """One optimizer, and a word before each of its steps.

    `prepare` is called with this and with whether the step was given a closure. What it changes by
    `lend` and `pass_over` is put back by the first hook after the step, or by a shell around the
    optimizer's `step` if that raises: nobody outside the step sees it.
    """

    def __init__(
        self, optimizer: Optimizer, prepare: Callable[[OptimizerStep, bool], None], guard: Guard
    ) -> None:
        self.optimizer = optimizer
        self._prepare, self._guard = prepare, guard
        self._inside = False  # the shell
        self._depth = 0  # of steps in steps: one that calls its parent's has its hooks called twice
        # Groups with the rate that the loop has set, and the one that they have for a step.
        self._rates: list[tuple[dict[str, Any], Any, Any]] = []
        self._grads: list[tuple[Tensor, Tensor | None]] = []
        self._unmade: StepUndo | None = None
        before = optimizer.register_step_pre_hook(guard.shell("treatment", self._before))
        after = optimizer.register_step_post_hook(guard.shell("end of a step", self._after))
        hooks: Any = optimizer._optimizer_step_post_hooks
        hooks.move_to_end(after.id, last=False)
        self._handles = [before, after]
        self._own = vars(optimizer).get("step")  # a schedule may have put one there
        self._shell = self._wrapped(optimizer.step)
        optimizer.step = self._shell  # type: ignore[method-assign]

    def lend(self, group: dict[str, Any], rate: Any) -> None:
        """Give a group another learning rate for this step."""
        self._rates.append((group, group["lr"], rate))
        group["lr"] = rate

    def pass_over(self, held: Iterable[Tensor]) -> None:
        """Let this step come to nothing: it is made with gradients of zero, and then undone.

        An optimizer cannot be kept from making it, and whoever looks meanwhile finds gradients.
        """
        with torch.no_grad():
            for each in held:
                self._grads.append((each, each.grad))
                each.grad = None if each.grad is None else torch.zeros_like(each.grad)
            self._unmade = StepUndo(self.optimizer)

    def close(self) -> None:
        """Leave the optimizer as it was."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._prepare = [], _nothing
        self._put_back()
        if vars(self.optimizer).get("step") is self._shell:  # else somebody has wrapped it since
            del self.optimizer.step
            if self._own is not None:
                self.optimizer.step = self._own  # type: ignore[method-assign]

    def _wrapped(self, plain: Callable[..., Any]) -> Any:
        """Return a method that makes a step and leaves nothing behind, even if that raises."""

        @wraps(plain)
        def step(_: Optimizer, *args: Any, **kwargs: Any) -> Any:
            outermost, self._inside = not self._inside, True
            try:
                return plain(*args, **kwargs)
            finally:
                if outermost:
                    self._inside, self._depth = False, 0
                    if self._rates or self._grads:  # it has raised
                        self._guard.run(PUTTING_BACK, self._put_back)

        return MethodType(step, self.optimizer)  # what a schedule wraps must be a method

    def _before(self, _: Optimizer, args: Any, kwargs: Any) -> None:
        if not self._inside:  # somebody goes around the shell, and the last step may have failed
            self._depth, self._grads, self._unmade = 0, [], None
            self._put_back()
        self._depth += 1
        if self._depth == 1 and PUTTING_BACK not in self._guard.off:
            closure = args[1] if len(args) > 1 else kwargs.get("closure")  # the first is itself
            self._prepare(self, closure is not None)

    def _after(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth <= 0 and (self._rates or self._grads):
            self._put_back()

    def _put_back(self) -> None:
        """Give the loop everything back."""
        for group, rate, given in self._rates:
            if group["lr"] is given:  # else the loop has set another one since
                group["lr"] = rate
        self._rates = []
        for parameter, grad in self._grads:
            parameter.grad = grad
        self._grads = []
        if self._unmade is not None:
            self._unmade.restore()
        self._unmade = None


class StepUndo:
    """All that a step of an optimizer may change, as it was before."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizers = family(optimizer)
        groups = [group for each in self._optimizers for group in each.param_groups]
        weights = {id(each): each for group in groups for each in group["params"]}
        self._weights = [(each, each.detach().clone()) for each in weights.values()]
        self._states = [copied(each.state) for each in self._optimizers]
        places = [*groups, *map(vars, self._optimizers)]
        self._settings = [(place, copied(settings(place))) for place in places]

    def restore(self) -> None:
        """Write everything back."""
        with torch.no_grad():
            for weight, kept in self._weights:
                weight.copy_(kept)
            for optimizer, state in zip(self._optimizers, self._states, strict=True):
                written(state, optimizer.state)
            for place, kept in self._settings:
                now = settings(place)
                for name in now.keys() - kept.keys():
                    del place[name]
                place.update(written(kept, now))


def family(optimizer: Optimizer) -> list[Optimizer]:
    """Return an optimizer with those that it steps itself."""
    found = [optimizer]
    for each in found:  # which grows meanwhile
        inner = [value for value in vars(each).values() if isinstance(value, Optimizer)]
        found += [one for one in inner if all(one is not other for other in found)]
    return found


def settings(place: MutableMapping[str, Any]) -> dict[str, Any]:
    """Return the plain values among a group's settings, or an optimizer's attributes."""
    return {name: value for name, value in place.items() if isinstance(value, PLAIN)}


def _nothing(*_: object) -> None:
    pass
