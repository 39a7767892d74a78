"""Wrapping a method of torch's while somebody listens, beside whoever else has wrapped it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import torch

Call: TypeAlias = Callable[..., Any]


def _nothing(*_: Any) -> None:
    pass


class Patch:
    """A method whose calls are told: `before(instance, args)`, then `after(instance, args, value)`.

    What somebody else has put in its place is called as before, and stays when this is taken off.
    What they wrap around it later stays too. A compiled graph goes through it as if it were not
    there.

    >>> class Greeter:
    ...     def greet(self, name):
    ...         return f"hello {name}"
    >>> patch = Patch(Greeter, "greet", after=lambda who, args, value: print(args, value))
    >>> patch.put_on()
    >>> greeting = Greeter().greet("you")
    ('you',) hello you
    >>> patch.take_off()
    >>> greeting = Greeter().greet("you")
    """

    def __init__(self, owner: type, name: str, *, before: Call = _nothing, after: Call) -> None:
        self._owner, self._name, self._first, self._last = owner, name, before, after
        self._top: Call | None = None  # the newest wrapper
        self._inner: Call | None = None  # what it stands for; None: what is inherited
        self._on = False
        self._active: set[int] = set()  # instances whose call is under way

    def put_on(self) -> None:
        """Wrap the method, unless that is done already."""
        self._on = True
        now = vars(self._owner).get(self._name)
        if now is None or now is not self._top:
            self._inner, self._top = now, self._wrapper(now)
            setattr(self._owner, self._name, self._top)

    def take_off(self) -> None:
        """Put back what was there, unless somebody has wrapped it since: then it only passes on."""
        self._on = False
        if self._top is None or vars(self._owner).get(self._name) is not self._top:
            return
        if self._inner is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._inner)
        self._top = self._inner = None

    def _wrapper(self, inner: Call | None) -> Call:
        owner, name = self._owner, self._name

        def call(instance: Any, *args: Any, **kwargs: Any) -> Any:
            # Inherited by `super`, so that a class beside this one has its turn.
            bound = (
                getattr(super(owner, instance), name) if inner is None else _bind(inner, instance)
            )
            # A wrapper below another one of ours has nothing to tell.
            if torch.compiler.is_compiling() or not self._on or id(instance) in self._active:
                return bound(*args, **kwargs)
            self._active.add(id(instance))
            try:
                fed = (*args, *kwargs.values())
                with suppress(Exception):
                    self._first(instance, fed)
                value = bound(*args, **kwargs)
                with suppress(Exception):
                    self._last(instance, fed, value)
                return value
            finally:
                self._active.discard(id(instance))

        return call


def _bind(function: Call, instance: Any) -> Call:
    """Return a function as the method of an instance, as looking it up there does."""
    bind = getattr(function, "__get__", None)
    return function if bind is None else bind(instance, type(instance))
