"""Change an optimizer's gradients and learning rates for one step, and restore them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from functools import wraps
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.doctor.snapshots import StateCopy, copied, write_back
from sickbay.probe.guard import Guard

RESTORING = "restoring a step"  # a part of its own: it goes on when treatment is switched off
PLAIN = (bool, int, float, str, tuple, type(None), Tensor)  # settings that a step may change


class OptimizerStep:
    """Calls `prepare` before each step of an optimizer.

    `prepare` gets this object and whether the step has a closure. What it changes by `set_rate` and
    `skip` is restored by the first hook after the step.

    With a guard, nothing that fails here reaches the loop, and a wrapper around `optimizer.step`
    restores everything even if the step raises.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        prepare: Callable[[OptimizerStep, bool], None],
        guard: Guard | None = None,
    ) -> None:
        self.optimizer = optimizer
        self._prepare, self._guard = prepare, guard
        self._inside = False  # the wrapper
        self._depth = 0  # a step that calls its parent's step has its hooks called twice
        self._rates: list[tuple[dict[str, Any], Any, Any]] = []  # group, its rate, the one set here
        self._grads: list[tuple[Tensor, Tensor | None]] = []
        self._undo: StepUndo | None = None
        before: Any = self._before if guard is None else guard.wrap("treatment", self._before)
        after: Any = self._after if guard is None else guard.wrap("end of a step", self._after)
        first = optimizer.register_step_pre_hook(before)
        last = optimizer.register_step_post_hook(after)
        hooks: Any = optimizer._optimizer_step_post_hooks
        hooks.move_to_end(last.id, last=False)
        self._handles = [first, last]
        self._own = vars(optimizer).get("step")  # a schedule may have put one there
        self._wrapper: Any = None
        if guard is not None:
            self._wrapper = self._wrapped(optimizer.step, guard)
            optimizer.step = self._wrapper  # type: ignore[method-assign]

    def set_rate(self, group: dict[str, Any], rate: Any) -> None:
        """Give a parameter group another learning rate for this step."""
        self._rates.append((group, group["lr"], rate))
        group["lr"] = rate

    def skip(self, parameters: Iterable[Tensor]) -> None:
        """Let this step have no effect: it is made with gradients of zero, and then undone.

        An optimizer cannot be kept from stepping, and other hooks expect to find gradients.
        """
        with torch.no_grad():
            for each in parameters:
                self._grads.append((each, each.grad))
                each.grad = None if each.grad is None else torch.zeros_like(each.grad)
            self._undo = StepUndo(self.optimizer)

    def close(self) -> None:
        """Leave the optimizer as it was."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._prepare = [], lambda *_: None
        self._restore()
        if self._wrapper is not None and vars(self.optimizer).get("step") is self._wrapper:
            del self.optimizer.step  # unless someone has wrapped it since
            if self._own is not None:
                self.optimizer.step = self._own  # type: ignore[method-assign]

    def _wrapped(self, plain: Callable[..., Any], guard: Guard) -> Any:
        """Return a method that makes a step and restores everything even if that raises."""

        @wraps(plain)
        def step(_: Optimizer, *args: Any, **kwargs: Any) -> Any:
            outermost, self._inside = not self._inside, True
            try:
                return plain(*args, **kwargs)
            finally:
                if outermost:
                    self._inside, self._depth = False, 0
                    if self._rates or self._grads:  # it has raised
                        guard.run(RESTORING, self._restore)

        return MethodType(step, self.optimizer)  # a schedule expects a method

    def _before(self, _: Optimizer, args: Any, kwargs: Any) -> None:
        if not self._inside:  # without the wrapper, the last step may have failed
            self._depth, self._grads, self._undo = 0, [], None
            self._restore()
        self._depth += 1
        if self._depth == 1 and (self._guard is None or RESTORING not in self._guard.off):
            closure = args[1] if len(args) > 1 else kwargs.get("closure")  # the first is itself
            self._prepare(self, closure is not None)

    def _after(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth <= 0 and (self._rates or self._grads):
            self._restore()

    def _restore(self) -> None:
        for group, rate, given in self._rates:
            if group["lr"] is given:  # else the loop has set another one since
                group["lr"] = rate
        self._rates = []
        for parameter, grad in self._grads:
            parameter.grad = grad
        self._grads = []
        if self._undo is not None:
            self._undo.restore()
        self._undo = None


class StepUndo(StateCopy):
    """A copy of everything that a step of an optimizer may change."""

    def __init__(self, optimizer: Optimizer) -> None:
        optimizers = with_inner(optimizer)
        groups = [group for each in optimizers for group in each.param_groups]
        weights = {id(each): each for group in groups for each in group["params"]}
        super().__init__(weights.values(), optimizers)
        places = [*groups, *map(vars, optimizers)]
        self._settings = [(place, copied(settings(place))) for place in places]

    def restore(self) -> None:
        """Write everything back."""
        super().restore()
        with torch.no_grad():
            for place, kept in self._settings:
                now = settings(place)
                for name in now.keys() - kept.keys():
                    del place[name]
                place.update(write_back(kept, now))


def with_inner(optimizer: Optimizer) -> list[Optimizer]:
    """Return an optimizer and those that it steps itself."""
    found = [optimizer]
    for each in found:  # grows meanwhile
        inner = [value for value in vars(each).values() if isinstance(value, Optimizer)]
        found += [one for one in inner if all(one is not other for other in found)]
    return found


def settings(place: MutableMapping[str, Any]) -> dict[str, Any]:
    """Return the plain values among a group's settings, or an optimizer's attributes."""
    return {name: value for name, value in place.items() if isinstance(value, PLAIN)}


def with_gradients(optimizer: Optimizer) -> tuple[list[Tensor], list[Tensor]]:
    """Return the parameters that have a gradient, and these gradients."""
    held, grads = [], []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if (grad := parameter.grad) is not None:
                held.append(parameter)
                grads.append(grad)
    return held, grads


def clip_gradients(
    parameters: Sequence[Tensor], norm: float | None, value: float | None, scale: float = 1.0
) -> None:
    """Clip each value of the gradients, then their norm; both limits are times `scale`.

    Sparse gradients are left as they are.
    """
    dense = [each for each in parameters if each.grad is not None and not each.grad.is_sparse]
    if value is not None:
        nn.utils.clip_grad_value_(dense, value * scale)
    if norm is not None:
        nn.utils.clip_grad_norm_(dense, norm * scale)
