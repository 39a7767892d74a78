"""Outputs that a last ReLU holds at 0, though their targets are not 0."""

from math import nan

from sickbay.history import History
from sickbay.problems.shared.training_score import gains_less

READINGS = 3  # that must show it
ALL, MANY = 0.999, 0.5  # share of outputs at 0, beyond that of the targets
AFTER, GAIN = 200, 0.5  # steps after which many zeros count, if the model gains less than this


def silent_share(history: History) -> float:
    """Return the share of outputs that a last ReLU holds at 0 for good, NaN if that does no harm.

    A sample whose output is cut off at 0 gets no gradient. If that is true of all samples, the
    model has stopped. If it is true of most, it must also answer badly: many an output may be 0
    where the target is next to nothing.

    >>> from sickbay.vitals import Setup
    >>> history = History(Setup(output="relu"))
    >>> rows = {"output": {"zeros": 1.0}, "target": {"zeros": 0.0}}
    >>> for step in range(3):
    ...     history.add_table("batch", rows, step=step)
    >>> silent_share(history)
    1.0
    """
    if history.setup.output != "relu":
        return nan
    tables = [each for each in history.tables("batch", READINGS) if "target" in each.names]
    if len(tables) < READINGS:
        return nan
    rows = [(each.row("output"), each.row("target")) for each in tables]
    excess = [output["zeros"] - target["zeros"] for output, target in rows]
    silent = all(output["zeros"] >= ALL for output, _ in rows) and min(excess) > MANY
    cut = all(each > MANY for each in excess) and gains_less(history, GAIN, AFTER)
    return min(output["zeros"] for output, _ in rows) if silent or cut else nan
