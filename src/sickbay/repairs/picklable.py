"""Check before training that everything can be sent to worker processes."""

from __future__ import annotations

import multiprocessing
import pickle
import re
import sys
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from torch import Tensor

from sickbay.errors import UsageError
from sickbay.printable import error_message


def check_picklable(**parts: Any) -> None:
    """Raise `UsageError` if one of these cannot be sent to a new process."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise UsageError(
            "workers= runs this script again in each worker process: put what must not run there "
            "under `if __name__ == '__main__':`, or use workers=1."
        )
    for name, part in parts.items():
        try:
            DryPickler(SimpleNamespace(write=lambda _: None)).dump(part)
        except Exception as error:  # pickling runs the user's code
            reason = re.sub(" at 0x[0-9a-f]+", "", error_message(error).rstrip("."))
            raise UsageError(
                f"{name} cannot be sent to worker processes ({reason}); "
                "define it at the top level of a file, or use workers=1."
            ) from error


class DryPickler(pickle.Pickler):
    """Pickles to find out whether it works. Skips what is large and can always be pickled."""

    def persistent_id(self, value: Any) -> Any:
        """Return an id for values to skip, None for the others."""
        if isinstance(value, type | FunctionType) and _has_no_file(value):
            raise pickle.PicklingError(f"{value.__name__} is defined in no file")
        if isinstance(value, np.ndarray):
            return None if value.dtype.hasobject else "array"
        shared = type(value).__module__.startswith("multiprocessing.")
        return "skipped" if shared or isinstance(value, Tensor) else None


def _has_no_file(value: type | FunctionType) -> bool:
    """Tell whether this was typed into a session, where another process cannot find it."""
    return value.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
