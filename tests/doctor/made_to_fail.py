"""Every function of the package as a part that can be made to raise, one at a time."""

from __future__ import annotations

import gc
import importlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import sickbay

INSIDE = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")  # parts of the function around them
NEEDS_MORE = ("sickbay.tuning.ray", "sickbay.tuning.optuna", "sickbay.__main__")


class MadeToFail(RuntimeError):  # noqa: N818 - said of the part
    """Raised by the part that is made to fail."""


def load() -> None:
    """Import every module of the package, but what needs other packages or is a program."""
    home = Path(sickbay.__path__[0])
    for file in sorted(home.rglob("*.py")):
        parts = file.relative_to(home.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if not name.startswith(NEEDS_MORE):
            importlib.import_module(name)


def functions() -> dict[CodeType, list[FunctionType]]:
    """Return every function of the package that there is, by its code.

    Taken from memory, so that what is wrapped, made by a decorator or held by a hook is there too.
    """
    found: dict[CodeType, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is FunctionType and is_ours(each):
            found[each.__code__].append(each)
    return found


def is_ours(function: FunctionType) -> bool:
    name = function.__globals__.get("__name__", "")
    return isinstance(name, str) and (name == "sickbay" or name.startswith("sickbay."))


def called(run: Callable[[], object]) -> list[CodeType]:
    """Return the functions of the package that are called meanwhile, in order."""
    seen: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and str(frame.f_globals.get("__name__", "")).startswith("sickbay"):
            seen.setdefault(frame.f_code)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return [code for code in seen if code.co_name not in (*INSIDE, "<module>")]


def name_of(code: CodeType) -> str:
    """Return a function as `module:Class.function`, by the file it stands in."""
    file = code.co_filename.rpartition("sickbay/")[2].removesuffix(".py")
    return f"{file.replace('/', '.')}:{code.co_qualname}"


@contextmanager
def failing(code: CodeType, known: dict[CodeType, list[FunctionType]]) -> Iterator[None]:
    """Let a function raise whenever it is called, whoever holds it.

    Its code is replaced, not its name: others have imported it, bound it, or made it a hook. One
    that is made anew inside of another is replaced there, and wherever one lives already.
    """
    raising = raiser(len(code.co_freevars))
    changed: list[tuple[FunctionType, CodeType]] = []
    alive = [*known.get(code, ())]
    if not alive or "<locals>" in code.co_qualname:
        alive += [each for each in gc.get_referrers(code) if type(each) is FunctionType]
        for outer, makers in known.items():
            if code in outer.co_consts:
                replaced = outer.replace(
                    co_consts=tuple(raising if each is code else each for each in outer.co_consts)
                )
                changed += [(each, replaced) for each in makers]
    changed += [(each, raising) for each in alive]
    before = [(each, each.__code__) for each, _ in changed]
    for function, new in changed:
        function.__code__ = new
    try:
        yield
    finally:
        for function, old in before:
            function.__code__ = old


def raiser(free: int) -> CodeType:
    """Return code that raises, and closes over as many variables as the one it stands for."""
    names = [f"free_{number}" for number in range(free)]
    lines = ["def outer(error):", *(f"    {name} = None" for name in names)]
    held = "".join(f"{name}, " for name in names) or "None"
    lines += [
        "    def part(*args, **kwargs):",
        "        from tests.doctor.made_to_fail import MadeToFail",
        "        raise MadeToFail('made to fail')",
        f"        return {held}",
        "    return part",
    ]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    made: CodeType = space["outer"](None).__code__
    return made
