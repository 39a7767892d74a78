"""Wrap a method of torch while someone listens, alongside the wrappers of others."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import RLock, get_ident
from typing import Any, Protocol, TypeAlias
from weakref import ref

from sickbay.probe.guard import Guard

Call: TypeAlias = Callable[..., Any]


class Listener(Protocol):
    """Receives calls; its guard runs the callbacks."""

    guard: Guard


class Patch:
    """A method that reports its calls to listeners while there are any.

    The callbacks are `before(listener, instance, args)` and `after(listener, instance, args,
    value)`. `wrapper` replaces the method and passes its calls to `call`. It must have no closure,
    or a graph compiled through it would be compiled again without it. Wrappers that others put
    below or above ours keep working, also after ours is removed.
    """

    def __init__(
        self,
        owner: type,
        name: str,
        wrapper: Call,
        part: str,
        *,
        after: Call | None = None,
        before: Call | None = None,
    ) -> None:
        # Tuples are replaced, never changed: other threads may be in a call.
        self._listeners: tuple[ref[Listener], ...] = ()
        self.alone = True  # nobody else has wrapped the method
        self._owner, self._name, self._wrapper, self._part = owner, name, wrapper, part
        self._before, self._after = before, after
        # What the wrapper calls at each of its places in the chain; None is the inherited method.
        self._inner: tuple[Call | None, ...] = ()
        self._plain = vars(owner).get(name)  # for those who kept the wrapper
        self._depths: dict[tuple[int, int], int] = {}  # of calls, by thread and instance
        self._lock = RLock()

    @property
    def listeners(self) -> list[Listener]:
        """The listeners that are alive."""
        return [alive for each in self._listeners if (alive := each()) is not None]

    def listen(self, listener: Listener) -> None:
        """Report every call to `listener`, and wrap the method if it is not."""
        with self._lock:
            self._set([*self.listeners, listener])
            now = vars(self._owner).get(self._name)
            if now is not self._wrapper:
                self._inner = (*self._inner, now)
                setattr(self._owner, self._name, self._wrapper)
            self.alone = self._inner == (None,)

    def forget(self, listener: Listener) -> None:
        """Stop reporting to `listener`. After the last one, restore the method.

        If somebody has wrapped it since, our wrapper stays and only passes calls on.
        """
        with self._lock:
            self._set(each for each in self.listeners if each is not listener)
            on = self._inner and vars(self._owner).get(self._name) is self._wrapper
            if self._listeners or not on:
                return
            *rest, inner = self._inner
            if inner is None:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, inner)
            self._inner = tuple(rest)

    def call(self, instance: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call the wrapped method, and report the call."""
        key = get_ident(), id(instance)
        depth = self._depths.get(key, 0)  # the wrapper may be in the chain twice
        bound = self._bound(instance, depth)
        self._depths[key] = depth + 1
        try:
            if depth or not self._listeners:
                return bound(*args, **kwargs)
            fed = (*args, *kwargs.values())
            if self._before is not None:
                with suppress(Exception):
                    self._tell(self._before, instance, fed)
            value = bound(*args, **kwargs)
            if self._after is not None:
                with suppress(Exception):
                    self._tell(self._after, instance, fed, value)
            return value
        finally:
            if depth:
                self._depths[key] = depth
            else:
                del self._depths[key]

    def _set(self, listeners: Iterable[Listener]) -> None:
        self._listeners = tuple({id(each): ref(each) for each in listeners}.values())

    def _tell(self, how: Call, *what: Any) -> None:
        for listener in self.listeners:
            listener.guard.run(self._part, how, listener, *what)

    def _bound(self, instance: Any, depth: int) -> Call:
        """Return the wrapped method."""
        chain = self._inner or (self._plain,)
        inner = chain[max(len(chain) - 1 - depth, 0)]
        if inner is None:  # `super` respects multiple inheritance
            found: Call = getattr(super(self._owner, instance), self._name)
            return found
        bind = getattr(inner, "__get__", None)
        return inner if bind is None else bind(instance, type(instance))
