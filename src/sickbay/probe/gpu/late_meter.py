"""Measuring without waiting: what is asked for is sent on its way, and filled in on arrival."""

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

PAYERS = {"raw": "gradient", "sample": "activation"}
Group = tuple[torch.device, slice | list[int], list[Tensor]]
Timed = tuple[str, torch.cuda.Event, torch.cuda.Event]  # what a device did between two events
PASSES = 16  # that are kept: a model has about four
MOST = 64  # tickets that may be out; the loop is then that far ahead of the device


class Ticket:
    """Tells when what was sent has arrived, and fills it in."""

    def __init__(
        self,
        events: Sequence[torch.cuda.Event],
        fills: Sequence[Callable[[], None]],
        timed: Sequence[Timed],
    ) -> None:
        self._events, self._fills, self._timed = events, fills, timed

    def is_there(self) -> bool:
        """Tell whether all has arrived, without waiting."""
        return all(event.query() for event in self._events)

    def take(self) -> None:
        """Fill everything in; waits if it is not there yet."""
        for event in self._events:
            event.synchronize()
        for fill in self._fills:
            fill()
        self._fills = ()

    def costs(self) -> dict[str, float]:
        """Return the seconds that the device has spent on each kind of reading."""
        costs: dict[str, float] = defaultdict(float)
        for what, start, end in self._timed:
            costs[PAYERS.get(what, what)] += start.elapsed_time(end) / 1000
        return costs


class Pages:
    """Pinned memory that is used again and again, by shape."""

    def __init__(self) -> None:
        self._free: dict[tuple[tuple[int, ...], torch.dtype], list[Tensor]] = defaultdict(list)

    def take(self, like: Tensor) -> Tensor:
        free = self._free[tuple(like.shape), like.dtype]
        return free.pop() if free else pinned(like)

    def give_back(self, page: Tensor) -> None:
        self._free[tuple(page.shape), page.dtype].append(page)


class LateMeter(Meter):
    """Measures by one pass over the tensors' memory, and brings the numbers over later."""

    late = True

    def __init__(self) -> None:
        super().__init__(on_device=torch.cuda.is_available())
        self._passes: dict[tuple[str, Layout, torch.device], Pass] = {}
        self._pages = Pages()
        self._fills: list[Callable[[], None]] = []
        self._streams: dict[tuple[torch.device, int], torch.cuda.Stream] = {}
        self._timed: list[Timed] = []
        self._out = 0

    @property
    def full(self) -> bool:
        return self._out >= MOST

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
        """Return a tensor of the CPU that is filled in later."""
        tensor = tensor.detach()
        page = pinned(tensor)
        page.copy_(tensor, non_blocking=True)
        self._note_stream(tensor.device)
        return page

    def hold(self, what: str, tensors: Sequence[Tensor]) -> Held:
        return LateHeld(self, what, tensors)

    def ticket(self) -> Ticket:
        events = []
        for stream in self._streams.values():
            event = torch.cuda.Event()
            event.record(stream)
            events.append(event)
        self._out += 1
        ticket = Ticket(events, [*self._fills, self._came], self._timed)
        self._fills, self._streams, self._timed = [], {}, []
        return ticket

    @contextmanager
    def timing(self, what: str, device: torch.device) -> Iterator[None]:
        """Note when a device begins and ends what is asked of it inside."""
        if device.type != "cuda":
            yield
            return
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record(torch.cuda.current_stream(device))
        yield
        end.record(torch.cuda.current_stream(device))
        self._timed.append((what, start, end))

    def _came(self) -> None:
        self._out -= 1

    def pass_over(self, what: str, tensors: Sequence[Tensor], device: torch.device) -> Pass:
        """Return the pass for tensors like these; a new one shares what it can with its like."""
        layout = tuple([each.numel() for each in tensors]), tuple([each.dtype for each in tensors])
        known = self._passes.pop((what, layout, device), None)
        if known is None:
            same = (each for key, each in self._passes.items() if key[1:] == (layout, device))
            like = next(same, None)
            known = Pass(layout, device) if like is None else like.again()
            if len(self._passes) >= PASSES:  # the one that was not used for long goes
                del self._passes[next(iter(self._passes))]
        self._passes[what, layout, device] = known
        return known

    def send(self, values: Tensor, result: Numbers, places: slice | list[int]) -> None:
        """Bring values over; on arrival they are at these places of the result."""
        page = self._pages.take(values)
        page.copy_(values, non_blocking=True)
        self._note_stream(values.device)

        def fill() -> None:
            result[places] = page.numpy()
            self._pages.give_back(page)

        self._fills.append(fill)

    def _note_stream(self, device: torch.device) -> None:
        if device.type == "cuda":
            stream = torch.cuda.current_stream(device)
            self._streams[device, stream.stream_id] = stream


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


def pinned(like: Tensor) -> Tensor:
    """Return memory on the CPU that a device can write to by itself."""
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=like.is_cuda)


def by_device(tensors: Sequence[Tensor]) -> list[Group]:
    """Return tensors as the kernels want them, by device, with their places."""
    ready = [each if is_ready(each) else made_ready(each) for each in tensors]
    devices = {each.device for each in ready}
    if len(devices) == 1:
        return [(devices.pop(), slice(None), ready)]
    groups: list[Group] = []
    for device in devices:
        places = [place for place, each in enumerate(ready) if each.device == device]
        groups.append((device, places, [ready[place] for place in places]))
    return groups


def is_ready(tensor: Tensor) -> bool:
    """Tell whether the values of a tensor lie side by side, in a kind that the kernels know."""
    known = type(tensor) is Tensor or type(tensor) is torch.nn.Parameter
    return known and tensor.dtype in KINDS and tensor.is_contiguous()


def made_ready(tensor: Tensor) -> Tensor:
    """Return the values of a tensor side by side, in a kind that the kernels know."""
    values = plain(tensor)
    values = values if values.dtype in KINDS else values.float()
    if values.ndim == 4 and values.is_contiguous(memory_format=torch.channels_last):
        return values.permute(0, 2, 3, 1)
    return values.contiguous()


def as_factor(scale: Tensor | float, device: torch.device) -> Tensor | None:
    """Return what every value is to be multiplied by, on the device; None for 1."""
    if isinstance(scale, Tensor):
        return scale.detach().to(device, torch.float64, non_blocking=True).reshape(1)
    return None if scale == 1.0 else torch.full((1,), scale, dtype=torch.float64, device=device)
