"""Wrapping a method of torch's while somebody listens, beside whoever else has wrapped it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

Call: TypeAlias = Callable[..., Any]


def _nothing(*_: Any) -> None:
    pass


class Patch:
    """A method whose calls are told: `before(instance, args)`, then `after(instance, args, value)`.

    `wrapper` takes the method's place and hands its calls to `call`. It has no closure, or a graph
    that was compiled through it would be compiled anew without it. What somebody else has put in
    that place is called as before, and stays when this is taken off. What they wrap around it later
    stays too.

    >>> class Greeter:
    ...     def greet(self, name):
    ...         return f"hello {name}"
    >>> def greet(self, *args, **kwargs):
    ...     return patch.call(self, args, kwargs)
    >>> patch = Patch(Greeter, "greet", greet, after=lambda who, args, value: print(args, value))
    >>> patch.put_on()
    >>> greeting = Greeter().greet("you")
    ('you',) hello you
    >>> patch.take_off()
    >>> greeting = Greeter().greet("you")
    """

    def __init__(
        self, owner: type, name: str, wrapper: Call, *, after: Call, before: Call = _nothing
    ) -> None:
        self._owner, self._name, self._wrapper = owner, name, wrapper
        self._before, self._after = before, after
        # What the wrapper stands for, once for each place it has in the chain of wrappers; None is
        # what is inherited.
        self._inner: list[Call | None] = []
        self._depth: Counter[int] = Counter()  # calls under way, by instance
        self._on = False
        self.alone = True  # nobody else has wrapped the method

    def put_on(self) -> None:
        """Wrap the method, unless that is done already."""
        self._on = True
        now = vars(self._owner).get(self._name)
        if now is not self._wrapper:
            self._inner.append(now)
            setattr(self._owner, self._name, self._wrapper)
        self.alone = self._inner == [None]

    def take_off(self) -> None:
        """Put back what was there, unless somebody has wrapped it since: then it only passes on."""
        self._on = False
        if not self._inner or vars(self._owner).get(self._name) is not self._wrapper:
            return
        inner = self._inner.pop()
        if inner is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, inner)

    def call(self, instance: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call what the wrapper stands for, and tell of it."""
        key = id(instance)
        depth = self._depth[key]  # the wrapper may stand below another one that calls it
        bound = self._bound(instance, depth)
        told = self._on and not depth
        self._depth[key] += 1
        try:
            if not told:
                return bound(*args, **kwargs)
            fed = (*args, *kwargs.values())
            with suppress(Exception):
                self._before(instance, fed)
            value = bound(*args, **kwargs)
            with suppress(Exception):
                self._after(instance, fed, value)
            return value
        finally:
            self._depth[key] -= 1
            if not self._depth[key]:
                del self._depth[key]

    def _bound(self, instance: Any, depth: int) -> Call:
        """Return the method that this call stands for."""
        inner = self._inner[max(len(self._inner) - 1 - depth, 0)] if self._inner else None
        if inner is None:  # by `super`, so that a class beside this one has its turn
            found: Call = getattr(super(self._owner, instance), self._name)
            return found
        bind = getattr(inner, "__get__", None)
        return inner if bind is None else bind(instance, type(instance))
