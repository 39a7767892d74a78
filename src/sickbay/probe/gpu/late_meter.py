"""Measure without waiting: start the work on the device, and fill in the numbers on arrival."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from sickbay.probe.gpu.memory_pass import KINDS, Layout, Pass
from sickbay.probe.meter import Held, Meter
from sickbay.probe.statistics import plain
from sickbay.vitals import STATISTICS, Numbers

CHARGED_TO = {"raw": "gradient", "sample": "activation"}
Group = tuple[torch.device, slice | list[int], list[Tensor]]
Timed = tuple[str, torch.cuda.Event, torch.cuda.Event]  # what the device did between two events
PASSES = 16  # passes kept; a model has about four
MOST = 64  # tickets that may be out; the loop is then that far ahead of the device


class Ticket:
    """Tells when the numbers of a reading have arrived, and fills them in."""

    def __init__(
        self,
        events: Sequence[torch.cuda.Event],
        fills: Sequence[Callable[[], None]],
        timed: Sequence[Timed],
    ) -> None:
        self._events, self._fills, self._timed = events, fills, timed

    def is_there(self) -> bool:
        """Return whether everything has arrived, without waiting."""
        return all(event.query() for event in self._events)

    def take(self) -> None:
        """Fill everything in; wait for it if necessary."""
        for event in self._events:
            event.synchronize()
        for fill in self._fills:
            fill()
        self._fills = ()

    def costs(self) -> dict[str, float]:
        """Return the seconds that the device spent on each kind of reading."""
        costs: dict[str, float] = defaultdict(float)
        for what, start, end in self._timed:
            costs[CHARGED_TO.get(what, what)] += start.elapsed_time(end) / 1000
        return costs


class LateMeter(Meter):
    """Measures in one pass over the tensors' memory, and copies the numbers over later."""

    late = True

    def __init__(self) -> None:
        super().__init__(on_device=torch.cuda.is_available())
        self._passes: dict[tuple[str, Layout, torch.device], Pass] = {}
        self._fills: list[Callable[[], None]] = []
        self._streams: dict[tuple[torch.device, int], torch.cuda.Stream] = {}
        self._timed: list[Timed] = []
        self._tickets_out = 0

    @property
    def full(self) -> bool:
        return self._tickets_out >= MOST

    def measure(self, what: str, tensors: Sequence[Tensor], scale: Tensor | float = 1.0) -> Numbers:
        result = np.full((len(tensors), len(STATISTICS)), np.nan)
        for device, places, some in by_device(tensors):
            factor = as_factor(scale, device)
            with self.timing(what, device):
                values = self.pass_over(what, some, device).read(some, factor, False)
            self.send(values, result, places)
        return result

    def numbers(self, values: Tensor) -> Numbers:
        row = values.detach().reshape(-1).float()
        result = np.full(len(row), np.nan)
        self.send(row, result, slice(None))
        return result

    def copy(self, tensor: Tensor) -> Tensor:
        """Return a CPU tensor that is filled in later."""
        tensor = tensor.detach()
        page = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
        page.copy_(tensor, non_blocking=True)
        if tensor.is_cuda:
            stream = torch.cuda.current_stream(tensor.device)
            self._streams[tensor.device, stream.stream_id] = stream
        return page

    def hold(self, what: str, tensors: Sequence[Tensor]) -> Held:
        return LateHeld(self, what, tensors)

    def ticket(self) -> Ticket:
        """Return a ticket for everything asked for since the last one."""
        events = [stream.record_event() for stream in self._streams.values()]
        self._tickets_out += 1
        ticket = Ticket(events, [*self._fills, self._on_arrival], self._timed)
        self._fills, self._streams, self._timed = [], {}, []
        return ticket

    @contextmanager
    def timing(self, what: str, device: torch.device) -> Iterator[None]:
        """Time what the device is asked to do inside a `with` block."""
        if device.type != "cuda":
            yield
            return
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record(torch.cuda.current_stream(device))
        yield
        end.record(torch.cuda.current_stream(device))
        self._timed.append((what, start, end))

    def pass_over(self, what: str, tensors: Sequence[Tensor], device: torch.device) -> Pass:
        """Return the pass for these tensors; passes of the same layout share their work space."""
        layout = tuple([each.numel() for each in tensors]), tuple([each.dtype for each in tensors])
        known = self._passes.pop((what, layout, device), None)
        if known is None:
            same = (each for key, each in self._passes.items() if key[1:] == (layout, device))
            like = next(same, None)
            known = Pass(layout, device) if like is None else like.twin()
            if len(self._passes) >= PASSES:  # drop the one that was not used for longest
                del self._passes[next(iter(self._passes))]
        self._passes[what, layout, device] = known
        return known

    def send(self, values: Tensor, result: Numbers, places: slice | list[int]) -> None:
        """Copy values over; on arrival they fill these places of the result."""
        page = self.copy(values)

        def fill() -> None:
            result[places] = page.numpy()

        self._fills.append(fill)

    def _on_arrival(self) -> None:
        self._tickets_out -= 1


class LateHeld(Held):
    """Tensors of which samples are kept on their devices."""

    def __init__(self, meter: LateMeter, what: str, tensors: Sequence[Tensor]) -> None:
        self._meter, self._groups = meter, by_device(tensors)
        self._passes = [meter.pass_over(what, some, device) for device, _, some in self._groups]
        self.values = np.full((len(tensors), len(STATISTICS)), np.nan)
        for (_, places, some), each in zip(self._groups, self._passes, strict=True):
            with meter.timing(what, each.device):
                values = each.read(some, None, True)
            meter.send(values, self.values, places)

    def moved(self) -> Numbers:
        rows = np.full((len(self.values), 3), np.nan)
        for (_, places, some), each in zip(self._groups, self._passes, strict=True):
            self._meter.send(each.moved(some), rows, places)
        return rows


def by_device(tensors: Sequence[Tensor]) -> list[Group]:
    """Group tensors by device, with their places, in the form that the kernels read."""
    ready = [as_readable(each) for each in tensors]
    devices = {each.device for each in ready}
    if len(devices) == 1:
        return [(devices.pop(), slice(None), ready)]
    groups: list[Group] = []
    for device in devices:
        places = [place for place, each in enumerate(ready) if each.device == device]
        groups.append((device, places, [ready[place] for place in places]))
    return groups


def as_readable(tensor: Tensor) -> Tensor:
    """Return the values of a tensor contiguously, in a dtype that the kernels read."""
    known = type(tensor) is Tensor or type(tensor) is torch.nn.Parameter
    if known and tensor.dtype in KINDS and tensor.is_contiguous():
        return tensor
    values = plain(tensor)
    values = values if values.dtype in KINDS else values.float()
    if values.ndim == 4 and values.is_contiguous(memory_format=torch.channels_last):
        return values.permute(0, 2, 3, 1)
    return values.contiguous()


def as_factor(scale: Tensor | float, device: torch.device) -> Tensor | None:
    """Return the factor for all values, on the device; None for 1."""
    if isinstance(scale, Tensor):
        return scale.detach().to(device, torch.float64, non_blocking=True).reshape(1)
    return None if scale == 1.0 else torch.full((1,), scale, dtype=torch.float64, device=device)
