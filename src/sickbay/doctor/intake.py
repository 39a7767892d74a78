"""Joins the numbers from the loop with what the probe collected at the same step."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from time import time
from typing import Any

from torch import Tensor

from sickbay.history import History
from sickbay.probe.collected import Collected
from sickbay.probe.guard import Guard
from sickbay.probe.probe import Probe
from sickbay.vitals import Numbers, Vitals

Notice = Callable[[str], object]

UNSTEPPED = 64  # calls of `step` without an optimizer step before we say so
PATIENCE = 8  # and this many times the most calls that a step ever took (gradient accumulation)
UNMOVED = (
    f"step() was called {UNSTEPPED} times or more, but the watched optimizer never stepped: "
    "nothing is read. If another optimizer has taken its place, call watch() again with that one."
)
MICRO = 4096  # most calls between two optimizer steps whose numbers are kept
SENT = 256  # and most whose numbers are brought over from a GPU


class Intake:
    """Keeps the numbers of each call until the optimizer has stepped, then the step until complete.

    On the CPU a step is complete at once. Values measured on a GPU arrive later: their steps stay
    here, in order, and the loop does not wait for them.
    """

    def __init__(self, probe: Probe, guard: Guard, history: History, notice: Notice) -> None:
        self._probe, self._guard, self._history, self._notice = probe, guard, history, notice
        # Bounded, in case there is never a step.
        self._numbers: deque[dict[str, float]] = deque(maxlen=MICRO)
        self._late_numbers: list[dict[str, Numbers]] = []
        self._waiting: deque[Collected] = deque()
        self._most = 0  # calls that an optimizer step ever took

    @property
    def step(self) -> int:
        """The newest step that the optimizer has made."""
        return self._waiting[-1].step if self._waiting else self._history.step

    @property
    def calls(self) -> int:
        """The number of calls since then."""
        return len(self._numbers)

    @property
    def misses_steps(self) -> bool:
        """Whether another optimizer must be in use, after so many calls without a step."""
        return self.calls >= max(UNSTEPPED, PATIENCE * self._most)

    def add(self, loss: Any, metrics: Mapping[str, Any]) -> bool:
        """Take the numbers of one call; return whether the optimizer has stepped."""
        self._add_numbers(named(loss, metrics))
        collected = self._guard.run("probe", self._probe.collect, self.step)
        if collected is not None:
            self._most = max(self._most, self.calls)
            collected.arrival = self._probe.meter.ticket()
            collected.late_numbers, self._late_numbers = self._late_numbers, []
        elif "probe" in self._guard.off:
            collected = Collected(step=self.step + 1)  # steps are still counted
        else:
            return False
        collected.numbers = {**averages(self._numbers), **self._probe.held.learning_rates()}
        self._numbers.clear()
        self._waiting.append(collected)
        return True

    def complete(self, wait: bool = False) -> Iterator[tuple[Vitals, Collected]]:
        """Yield the steps that are complete, oldest first, as vitals with what they came from.

        With `wait`, wait for the others too.
        """
        while self._waiting:
            arrival = self._waiting[0].arrival
            if arrival is not None and not wait and not arrival.is_there():
                return
            collected = self._waiting.popleft()
            if arrival is not None:
                arrival.take()
                for what, seconds in arrival.costs().items():
                    self._probe.clock.add_elsewhere(what, seconds)
                rows = [
                    {name: float(value[0]) for name, value in row.items()}
                    for row in collected.late_numbers
                ]
                collected.numbers = {**averages(rows), **collected.numbers}
            epoch = self._history.epoch
            vitals = self._guard.run("probe", self._probe.vitals, collected, epoch)
            yield vitals or Vitals(collected.step, epoch, time(), collected.numbers), collected

    def _add_numbers(self, values: Mapping[str, Any]) -> None:
        meter = self._probe.meter
        if not meter.late:
            self._numbers.append(as_numbers(values, self._notice))
            return
        on_gpu = {name: mean(value) for name, value in values.items() if is_on_device(value)}
        rest = {name: value for name, value in values.items() if name not in on_gpu}
        self._numbers.append(as_numbers(rest, self._notice))
        if on_gpu and len(self._late_numbers) < SENT and not (meter.full or meter.blocked):
            self._late_numbers.append({name: meter.numbers(each) for name, each in on_gpu.items()})


def named(loss: Any, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values passed to `step` by name."""
    return metrics if loss is None else {"loss": loss, **metrics}


def as_numbers(values: Mapping[str, Any], notice: Notice) -> dict[str, float]:
    """Convert the values to floats. Skip and report anything that is not a number."""
    numbers = {}
    for name, value in values.items():
        number = as_number(value)
        if number is None:
            kind = type(value).__name__
            got = f"a tensor of {value.dtype}" if isinstance(value, Tensor) else kind
            notice(f"{name} must be a number or a tensor, got {got}.")
        else:
            numbers[name] = number
    return numbers


def as_number(value: Any) -> float | None:
    """Return a number as a float, a tensor as the mean of its values, None for anything else."""
    try:
        if not isinstance(value, Tensor):
            return float(value)
        value = value.detach()
        single = value.ndim == 0 or value.is_complex()  # a complex mean is not a float
        return float(value.item() if single else value.float().mean().item())
    except Exception:
        return None


def averages(rows: Collection[dict[str, float]]) -> dict[str, float]:
    """Return the mean of every name over the rows that have it.

    >>> averages([{"loss": 1.0, "accuracy": 0.5}, {"loss": 3.0}])
    {'loss': 2.0, 'accuracy': 0.5}
    """
    if len(rows) == 1:
        return next(iter(rows))
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    return {name: sum(each) / len(each) for name, each in values.items()}


def is_on_device(value: Any) -> bool:
    """Return whether reading this value would mean waiting for a GPU."""
    return isinstance(value, Tensor) and not value.is_cpu


def mean(value: Tensor) -> Tensor:
    """Return the mean of a tensor, on its device."""
    value = value.detach()
    return value.float().mean() if value.ndim else value
