"""Wrapping a method of torch's while somebody listens, beside whoever else has wrapped it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import RLock, get_ident
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from sickbay.vitals.guard import Guard

Call: TypeAlias = Callable[..., Any]


class Guarded(Protocol):
    """A listener; its guard runs what it is told."""

    guard: Guard


Listener = TypeVar("Listener", bound=Guarded)


def _nothing(*_: Any) -> None:
    pass


class Patch(Generic[Listener]):
    """A method whose calls listeners are told of, one by one.

    That is by `before(listener, instance, args)` and `after(listener, instance, args, value)`, run
    as a part of ours. `wrapper` takes the method's place and hands its calls to `call`. It has no
    closure, or a graph that was compiled through it would be compiled anew without it. What
    somebody else has put in that place is called as before, and stays when this is taken off. What
    they wrap around it later stays too.

    >>> class Greeter:
    ...     def greet(self, name):
    ...         return f"hello {name}"
    >>> def greet(self, *args, **kwargs):
    ...     return patch.call(self, args, kwargs)
    >>> def heard(listener, greeter, args, value):
    ...     print(args, value)
    >>> class Ear:
    ...     guard = Guard(print)
    >>> patch, ear = Patch(Greeter, "greet", greet, "hearing", after=heard), Ear()
    >>> patch.listen(ear)
    >>> greeting = Greeter().greet("you")
    ('you',) hello you
    >>> patch.forget(ear)
    >>> greeting = Greeter().greet("you")
    """

    def __init__(
        self,
        owner: type,
        name: str,
        wrapper: Call,
        part: str,
        *,
        after: Call,
        before: Call = _nothing,
    ) -> None:
        self.listeners: WeakSet[Listener] = WeakSet()  # weak, so that a forgotten one can go
        self.alone = True  # nobody else has wrapped the method
        self._owner, self._name, self._wrapper, self._part = owner, name, wrapper, part
        self._before, self._after = before, after
        # What the wrapper stands for, once for each place it has in the chain of wrappers; None is
        # what is inherited. It is replaced, not changed: other threads may be in a call.
        self._inner: tuple[Call | None, ...] = ()
        self._plain = vars(owner).get(name)  # for whoever has kept the wrapper
        self._depth: Counter[tuple[int, int]] = Counter()  # calls under way, by thread and instance
        self._lock = RLock()

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every call; while anybody listens the method is wrapped."""
        with self._lock:
            self.listeners.add(listener)
            now = vars(self._owner).get(self._name)
            if now is not self._wrapper:
                self._inner = (*self._inner, now)
                setattr(self._owner, self._name, self._wrapper)
            self.alone = self._inner == (None,)

    def forget(self, listener: Listener) -> None:
        """Stop telling; with the last listener gone the method is as it was.

        Unless somebody has wrapped it since: then the wrapper stays, and only passes on.
        """
        with self._lock:
            self.listeners.discard(listener)
            on = self._inner and vars(self._owner).get(self._name) is self._wrapper
            if self.listeners or not on:
                return
            *rest, inner = self._inner
            if inner is None:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, inner)
            self._inner = tuple(rest)

    def call(self, instance: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call what the wrapper stands for, and tell of it."""
        key = get_ident(), id(instance)
        depth = self._depth[key]  # the wrapper may stand below another one that calls it
        bound = self._bound(instance, depth)
        self._depth[key] += 1
        try:
            if depth or not self.listeners:
                return bound(*args, **kwargs)
            fed = (*args, *kwargs.values())
            with suppress(Exception):
                self._tell(self._before, instance, fed)
            value = bound(*args, **kwargs)
            with suppress(Exception):
                self._tell(self._after, instance, fed, value)
            return value
        finally:
            self._depth[key] -= 1
            if not self._depth[key]:
                del self._depth[key]

    def _tell(self, how: Call, *what: Any) -> None:
        for listener in list(self.listeners):
            listener.guard.run(self._part, how, listener, *what)

    def _bound(self, instance: Any, depth: int) -> Call:
        """Return the method that this call stands for."""
        chain = self._inner or (self._plain,)
        inner = chain[max(len(chain) - 1 - depth, 0)]
        if inner is None:  # by `super`, so that a class beside this one has its turn
            found: Call = getattr(super(self._owner, instance), self._name)
            return found
        bind = getattr(inner, "__get__", None)
        return inner if bind is None else bind(instance, type(instance))
