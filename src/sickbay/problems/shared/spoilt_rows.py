"""Which rows of a table are not finite and show that something is wrong."""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from sickbay.history import History
from sickbay.vitals import Table

LOSSES = 512  # to look back at for the one of a batch


def spoilt(history: History, table: Table) -> NDArray[np.bool_]:
    """Tell for each row whether it is not finite. Bad outputs only show that something else is.

    A model whose outputs and loss are finite copes with its inputs: it fills in what is missing.
    Of large outputs only the first are known.
    """
    bad = table.column("nonfinite") > 0
    if table.kind == "batch":
        outputs = bad[[name == "output" for name in table.names]]
        loss = dict(history.timed("loss", LOSSES)).get(table.step, 0.0)
        copes = len(outputs) and not outputs.any() and isfinite(loss)
        left_out = ("output", "input") if copes else ("output",)
        bad &= np.array([name not in left_out for name in table.names], bool)
    return bad
