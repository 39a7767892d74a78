"""Where a loop hands in its numbers and readings are picked up: at once, or when they are there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor

from sickbay.doctor.loop_numbers import averages, numbers_of, told
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.probe.probe import Probe
from sickbay.probe.turn import Reading, Round
from sickbay.vitals import Numbers

if TYPE_CHECKING:
    from sickbay.probe.gpu.late_meter import LateMeter, Ticket

Notice = Callable[[str], object]
Ready = tuple[Reading, dict[str, float]]  # a reading, and the numbers that were handed in with it

UNSTEPPED = 64  # calls of `step` without a step of the optimizer before we say so
PATIENCE = 8  # and that many times what a step has ever taken, as gradients may be accumulated
UNMOVED = (
    f"{UNSTEPPED} calls of step() or more, but the watched optimizer made none: nothing is read. "
    "If another optimizer has taken its place, watch again with that one."
)
MICRO = 4096  # calls between two steps of the optimizer whose numbers are kept at the most
SENT = 256  # of them whose numbers are brought over from a device


class Desk:
    """Keeps what is handed in until an optimizer has made a step, then has a reading at once."""

    def __init__(self, probe: Probe, guard: Guard, history: History, notice: Notice) -> None:
        self._probe, self._guard, self._history, self._notice = probe, guard, history, notice
        # Bounded, should there never be a step.
        self._given: deque[dict[str, float]] = deque(maxlen=MICRO)
        self._ready: list[Ready] = []
        self._most = 0  # calls that a step of the optimizer ever took

    @property
    def step(self) -> int:
        """The newest step that was made."""
        return self._history.step

    @property
    def waiting(self) -> int:
        """Calls since then."""
        return len(self._given)

    @property
    def misses_steps(self) -> bool:
        """Whether so many calls came without a step that another optimizer must be at work."""
        return self.waiting >= max(UNSTEPPED, PATIENCE * self._most)

    def hand_in(self, loss: Any, metrics: Mapping[str, Any]) -> int:
        """Take what a loop tells; return how many steps of the optimizer it has made."""
        self._note(told(loss, metrics))
        taken = self._guard.run("probe", self._probe.release, self.step)
        if taken is not None:
            self._most = max(self._most, self.waiting)
            self._end(taken)
            return taken.turn.length
        if "probe" in self._guard.off:  # steps are counted all the same
            self._ready.append((Reading(steps=1), self._numbers()))
        return len(self._ready)

    def pick_up(self, wait: bool = False) -> list[Ready]:  # noqa: ARG002 - there is no waiting
        """Return what is ready, oldest first; with `wait` also what is on its way."""
        ready, self._ready = self._ready, []
        return ready

    def costs(self) -> dict[str, float]:
        """Return the seconds that devices have spent on what was picked up since the last call."""
        return {}

    def _note(self, values: Mapping[str, Any]) -> None:
        self._given.append(numbers_of(values, self._notice))

    def _end(self, taken: Round) -> None:
        self._ready.append((self._reading(taken), self._numbers()))

    def _reading(self, taken: Round) -> Reading:
        made = self._guard.run("probe", self._probe.reading, taken)
        return Reading(steps=taken.turn.length) if made is None else made

    def _numbers(self) -> dict[str, float]:
        given = {**averages(self._given), **self._probe.learning_rates()}
        self._given.clear()
        return given


@dataclass(frozen=True)
class Letter:
    """A step that is on its way."""

    ticket: Ticket
    taken: Round
    given: dict[str, float]  # numbers that were there at once
    sent: list[dict[str, Numbers]]  # numbers that come with the ticket


class Mail(Desk):
    """A desk whose readings come from a device: nobody waits there, they are picked up later."""

    def __init__(self, probe: Probe, guard: Guard, history: History, notice: Notice) -> None:
        super().__init__(probe, guard, history, notice)
        self._meter = cast("LateMeter", probe.meter)
        self._out: deque[Letter] = deque()
        self._sent: list[dict[str, Numbers]] = []
        self._costs: dict[str, float] = {}
        self._step = -1

    @property
    def step(self) -> int:
        return self._step

    def pick_up(self, wait: bool = False) -> list[Ready]:
        while self._out and (wait or self._out[0].ticket.is_there()):
            letter = self._out.popleft()
            letter.ticket.take()
            rows = [{name: float(value[0]) for name, value in row.items()} for row in letter.sent]
            given = {**averages(rows), **letter.given} if rows else letter.given
            self._ready.append((self._reading(letter.taken), given))
            for what, seconds in letter.ticket.costs().items():
                self._costs[what] = self._costs.get(what, 0.0) + seconds
        return super().pick_up(wait)

    def costs(self) -> dict[str, float]:
        costs, self._costs = self._costs, {}
        return costs

    def _note(self, values: Mapping[str, Any]) -> None:
        there = {name: mean(value) for name, value in values.items() if is_on_device(value)}
        super()._note({name: value for name, value in values.items() if name not in there})
        if there and len(self._sent) < SENT and not (self._meter.full or self._meter.blocked):
            self._sent.append({name: self._meter.numbers(value) for name, value in there.items()})

    def _end(self, taken: Round) -> None:
        self._out.append(Letter(self._meter.ticket(), taken, self._numbers(), self._sent))
        self._sent, self._step = [], taken.step


def is_on_device(value: Any) -> bool:
    """Tell whether a value is a tensor that would have to be waited for."""
    return isinstance(value, Tensor) and not value.is_cpu


def mean(value: Tensor) -> Tensor:
    """Return the mean of a tensor, on its device."""
    value = value.detach()
    return value.float().mean() if value.ndim else value
