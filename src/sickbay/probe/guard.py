"""Keep failures of sickbay away from the loop: a part that fails is reported and switched off."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

Args = ParamSpec("Args")
Result = TypeVar("Result")


class Guard:
    """Runs parts of sickbay by name, and catches what they raise.

    Everything that torch or the loop calls goes through `run` or `wrap`.

    >>> guard = Guard(lambda part, error: print(f"{part} is off: {error!r}"))
    >>> guard.run("chart", lambda: 1 / 0)
    chart is off: ZeroDivisionError('division by zero')
    >>> guard.run("chart", lambda: 1 / 0), guard.run("probe", abs, -1)
    (None, 1)
    """

    def __init__(self, report: Callable[[str, Exception], object]) -> None:
        self.off: set[str] = set()
        self._report = report

    def run(
        self, part: str, function: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs
    ) -> Result | None:
        """Return the result of `function`, or None if it fails or its part is off."""
        if part in self.off:
            return None
        try:
            return function(*args, **kwargs)
        except Exception as error:
            self.fail(part, error)
            return None

    def wrap(self, part: str, function: Callable[..., object]) -> Callable[..., None]:
        """Return a function for torch to call, which `run`s this one and returns None."""

        def wrapped(*args: Any, **kwargs: Any) -> None:
            self.run(part, function, *args, **kwargs)

        return wrapped

    def fail(self, part: str, error: Exception) -> None:
        """Report that a part failed, and switch it off."""
        self.off.add(part)
        try:
            self._report(part, error)
        except Exception:  # a broken report must not reach the loop either
            self.off.add("report")
