"""Readings that are on their way from a device: sent at a step, and taken when they are there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from sickbay.doctor.numbers import averages, numbers_of
from sickbay.readings import Numbers
from sickbay.vitals.probe import Probe
from sickbay.vitals.round import Reading, Round

if TYPE_CHECKING:
    from sickbay.vitals.gpu.post import Ticket

MICRO = 256  # calls between two steps of the optimizer that are kept at the most


@dataclass(frozen=True)
class Letter:
    """What was sent at a step."""

    ticket: Ticket
    taken: Round
    given: list[dict[str, float]]  # numbers that were there at once
    late: list[dict[str, Numbers]]  # numbers that come with the ticket
    rates: dict[str, float]

    def open(self, probe: Probe) -> tuple[Reading, dict[str, float]]:
        """Return the reading and the scalars; the ticket has arrived."""
        self.ticket.take()
        arrived = [{name: float(value[0]) for name, value in row.items()} for row in self.late]
        return probe.reading(self.taken), {**averages([*self.given, *arrived]), **self.rates}


class Mail:
    """Sends what a loop hands over and what the probe has taken, and brings it back in order."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._out: deque[Letter] = deque()
        self._given: list[dict[str, float]] = []
        self._late: list[dict[str, Numbers]] = []
        self._costs: dict[str, float] = {}
        self.waiting = 0  # calls since the newest step
        self.step = -1  # the newest that was made

    def post(self, loss: Any, metrics: Mapping[str, Any], notice: Callable[[str], object]) -> int:
        """Send off a step; return how many steps of the optimizer it was."""
        meter = self._probe.meter
        all_ = metrics if loss is None else {"loss": loss, **metrics}
        there = {name: value for name, value in all_.items() if is_on_device(value)}
        here = {name: value for name, value in all_.items() if name not in there}
        self.waiting += 1
        if self.waiting <= MICRO:
            self._given.append(numbers_of(None, here, notice))
            if not meter.full and not meter.blocked:
                means = {name: mean(value) for name, value in there.items()}
                self._late.append({name: meter.numbers(value) for name, value in means.items()})
        taken = self._probe.release(self.step)
        if taken is None:
            return 0
        ticket = meter.ticket()
        assert ticket is not None
        rates = self._probe.learning_rates()
        self._out.append(Letter(ticket, taken, self._given, self._late, rates))
        self._given, self._late, self.waiting, self.step = [], [], 0, taken.step
        return taken.turn.length

    def arrived(self, wait: bool) -> Iterator[tuple[Reading, dict[str, float]]]:
        """Yield what has arrived, oldest first."""
        while self._out and (wait or self._out[0].ticket.is_there()):
            letter = self._out.popleft()
            opened = letter.open(self._probe)
            for what, seconds in letter.ticket.costs().items():
                self._costs[what] = self._costs.get(what, 0.0) + seconds
            yield opened

    def costs(self) -> dict[str, float]:
        """Return the seconds that devices have spent on what has arrived since the last call."""
        costs, self._costs = self._costs, {}
        return costs


def is_on_device(value: Any) -> bool:
    """Tell whether a value is a tensor that would have to be waited for."""
    return isinstance(value, Tensor) and not value.is_cpu


def mean(value: Tensor) -> Tensor:
    """Return the mean of a tensor, on its device."""
    value = value.detach()
    return value.float().mean() if value.ndim else value
