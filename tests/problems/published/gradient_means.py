"""Histories of networks, given by the mean absolute gradient of each layer."""

from collections.abc import Sequence

from sickbay.history import History
from sickbay.vitals import Setup, Table, Vitals

SHAPES = {"bias": (4,)}


def history(
    *readings: Sequence[float],
    lost: float = 0,
    epochs: int | None = 20,
    finished: int = 1,
    bias: float | None = None,
) -> History:
    """Return a run with these readings, whose epochs end after the last of them."""
    made = History(Setup(epochs=epochs, shapes=SHAPES))
    for step, means in enumerate(readings):
        rows = {f"{index}.weight": {"mean_abs": mean} for index, mean in enumerate(means)}
        if bias is not None:
            rows["bias"] = {"mean_abs": bias}
        for row in rows.values():
            row["nonfinite"] = lost
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    for _ in range(finished):
        made.end_epoch(loss=1.0)
    return made
