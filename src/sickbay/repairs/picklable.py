"""Whether things can be sent to another process: known before anything is trained."""

from __future__ import annotations

import multiprocessing
import pickle
import re
import sys
from types import FunctionType
from typing import Any

import numpy as np
from torch import Tensor

from sickbay.errors import UsageError
from sickbay.printable import error_message


def check_sendable(**parts: Any) -> None:
    """Say so if one of these cannot be sent to a process that is started for it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise UsageError(
            "workers= runs this script again in each worker process: put what is not to be run "
            "there under `if __name__ == '__main__':`, or use workers=1."
        )
    for name, part in parts.items():
        try:
            Trial().dump(part)
        except Exception as error:  # what pickling runs is the user's code
            reason = re.sub(" at 0x[0-9a-f]+", "", error_message(error).rstrip("."))
            raise UsageError(
                f"{name} cannot be sent to worker processes ({reason}); "
                "define it at the top level of a file, or use workers=1."
            ) from error


class Trial(pickle.Pickler):
    """Pickles without a result; passes over what is large and can always be sent.

    >>> Trial().dump({"x": 1.0})
    """

    def __init__(self) -> None:
        super().__init__(Nowhere())

    def persistent_id(self, value: Any) -> Any:
        """Return something for what is passed over; None is what is pickled."""
        if isinstance(value, type | FunctionType) and _only_here(value):
            raise pickle.PicklingError(f"{value.__name__} is defined in no file")
        if isinstance(value, np.ndarray):
            return None if value.dtype.hasobject else "array"
        shared = type(value).__module__.startswith("multiprocessing.")
        return "sent" if shared or isinstance(value, Tensor) else None


class Nowhere:
    """A file that keeps nothing."""

    def write(self, _: bytes) -> None: ...


def _only_here(value: type | FunctionType) -> bool:
    """Tell whether this was typed into a session, where another process cannot find it."""
    return value.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
