"""Keep a copy of healthy weights that a run can go back to."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.history import History
from sickbay.probe.finite import all_finite

FIRST, EVERY = 20, 100  # steps before the first snapshot, and between two of them
CHEAP = 0.01  # seconds; a faster snapshot is always taken that often
MOST = 1000  # most steps between two slower ones
SHARE = 0.25  # of the budget is for snapshots
LEVEL = 30  # losses that show what is usual


class StateCopy:
    """A copy of tensors and the state of optimizers, on the same device."""

    def __init__(self, tensors: Iterable[Tensor], optimizers: Sequence[Optimizer]) -> None:
        self._tensors = [(each, each.detach().clone()) for each in tensors]
        self._states = [(each, copied(each.state)) for each in optimizers]

    def restore(self) -> None:
        """Write everything back into the same tensors, so that references to them stay valid."""
        with torch.no_grad():
            for tensor, kept in self._tensors:
                tensor.copy_(kept)
            for optimizer, state in self._states:
                write_back(state, optimizer.state)


class Snapshot(StateCopy):
    """A copy of weights, buffers and the state of optimizers.

    Learning rates and other settings belong to the loop or its schedule, and are not restored.

    Attributes:
        step: The step it was taken after.
        rates: The learning rates at that step, by optimizer and group.
    """

    def __init__(self, model: nn.Module, optimizers: Sequence[Optimizer], step: int) -> None:
        super().__init__(tensors(model), optimizers)
        self.step, self._model = step, model
        self.rates = {each: rates(each) for each in optimizers}

    @property
    def fits(self) -> bool:
        """Whether the model still has the same tensors."""
        now = list(tensors(self._model))
        return len(now) == len(self._tensors) and all(
            new is old and new.shape == kept.shape
            for new, (old, kept) in zip(now, self._tensors, strict=True)
        )


class Snapshots:
    """Keeps the snapshot of the last healthy step, and a newer one until it has proved itself.

    Attributes:
        replaced: What the last rollback replaced; kept until the next snapshot.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        history: History,
        budget: float = 1.0,
    ) -> None:
        self.replaced: Snapshot | None = None
        self._model, self._optimizers, self._history = model, optimizers, history
        self._kept: Snapshot | None = None
        # The loss of the next step is the first to show whether the new weights are healthy.
        self._unproved: Snapshot | None = None
        self._next = FIRST
        self._calm = True
        self._allowance = SHARE * budget
        self._last = perf_counter(), history.step  # time and step of the last snapshot

    @property
    def may_pass(self) -> int:
        """How many steps may pass before `look` must be called again."""
        if self._unproved is not None:
            return 0
        return max(self._next - 1 - self._history.step, 0) if self._calm else EVERY

    @property
    def healthy(self) -> Snapshot | None:
        """The snapshot that the run can go back to, if any."""
        return self._kept if self._kept is not None and self._kept.fits else None

    def look(self, calm: bool) -> None:
        """Take a snapshot if one is due; `calm` means that nothing is wrong."""
        self._calm = calm
        losses, step = self._history.recent("loss", LEVEL), self._history.step
        if self._unproved is not None:
            if step == self._unproved.step:
                return  # at the end of an epoch
            if calm and (not losses or losses[-1] <= max(losses[:-1], default=losses[-1])):
                self._kept, self.replaced = self._unproved, None
            self._unproved = None
        elif calm and step >= self._next and (not losses or losses[-1] <= median(losses)):
            start = perf_counter()
            if all_finite(tensors(self._model)):
                self._unproved = Snapshot(self._model, self._optimizers, step)
            self._next = step + self._pause(start, perf_counter() - start)

    def go_back(self, snapshot: Snapshot) -> Snapshot:
        """Restore a snapshot; return one of what it replaced."""
        step = self._history.step
        self.replaced, self._unproved = Snapshot(self._model, self._optimizers, step), None
        snapshot.restore()
        self._next = step + EVERY
        return self.replaced

    def _pause(self, now: float, price: float) -> int:
        """Return the number of steps until the next snapshot, given the cost of this one."""
        (before, first), self._last = self._last, (now, self._history.step)
        usual = (now - before) / max(self._history.step - first, 1)
        return apart(price, usual * self._allowance)

    def close(self) -> None:
        """Drop all snapshots."""
        self._kept = self._unproved = self.replaced = None


def apart(price: float, allowance: float) -> int:
    """Return the number of steps between two snapshots, given the seconds allowed for each step.

    >>> apart(0.05, 0.001), apart(0.3, 0.001), apart(60.0, 0.001)
    (100, 300, 1000)
    """
    if price < CHEAP:
        return EVERY
    return min(max(EVERY, ceil(price / max(allowance, 1e-12))), MOST)


def tensors(model: nn.Module) -> Iterator[Tensor]:
    """Yield weights and buffers, without `state_dict`, which may call hooks of the user."""
    yield from model.parameters()
    yield from model.buffers()


def rates(optimizer: Optimizer) -> list[float]:
    """Return the learning rate of every group, 0 for one that has none."""
    return [float(group.get("lr", 0.0)) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    """Return a copy of an optimizer's state."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return copy.deepcopy(value)


def write_back(kept: Any, now: Any) -> Any:
    """Write old values into the tensors and dicts that exist now, and return these.

    >>> now = {"step": 3, "new": 1}
    >>> write_back({"step": 2}, now) is now, now
    (True, {'step': 2})
    """
    if isinstance(kept, Tensor) and isinstance(now, Tensor) and kept.shape == now.shape:
        return now.copy_(kept)
    if isinstance(kept, dict) and isinstance(now, dict):
        for name in now.keys() - kept.keys():
            del now[name]
        now.update({name: write_back(value, now.get(name)) for name, value in kept.items()})
        return now
    return copied(kept)
