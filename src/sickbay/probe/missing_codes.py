"""Find numbers that stand for missing values, such as -999, among the inputs.

Such a number is the same again and again, and lies far outside of the rest of its column. So it
still shows after the column was standardised.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

COLUMNS = 512  # wider inputs are hardly tables
DISTINCT = 8  # values that the rest of a column must have in a batch: classes have no range
REPEATS = 3  # of a code that are no chance
SHARE = 0.3  # of a column that may be missing


@dataclass(frozen=True)
class Lowest:
    """The lowest value of each column, how often it came, and the lowest of the others."""

    value: Tensor
    count: Tensor
    other: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> "Lowest":
        value = rows.amin(0)
        same = rows == value
        return cls(value, same.sum(0), rows.masked_fill(same, torch.inf).amin(0))

    def joined(self, new: "Lowest") -> "Lowest":
        value = torch.minimum(self.value, new.value)
        mine, its = self.value == value, new.value == value
        other = torch.minimum(
            torch.where(mine, self.other, self.value), torch.where(its, new.other, new.value)
        )
        return replace(self, value=value, count=self.count * mine + new.count * its, other=other)


class MissingCodes:
    """Follows the extremes of each column over all batches."""

    def __init__(self) -> None:
        self._seen: tuple[Lowest, Lowest] | None = None
        self._rows = 0

    def scalars(self, inputs: Tensor) -> dict[str, float]:
        """Return the most likely code so far, and its distance from the rest of its column.

        `code_distance` is relative to the range of the rest.

        >>> inputs = torch.linspace(0, 1, 40)[:, None].clone()
        >>> inputs[:4] = -999.0
        >>> found = MissingCodes().scalars(inputs)
        >>> round(found["code"]), found["code_distance"] > 1000
        (-999, True)
        """
        if inputs.ndim != 2 or not inputs.is_floating_point() or inputs.shape[1] > COLUMNS:
            return {}
        if len(inputs) < 2 or not bool(inputs.isfinite().all()):
            return {}
        rows = inputs.double()
        new = Lowest.of(rows), Lowest.of(-rows)
        if self._seen is not None and self._seen[0].value.shape == new[0].value.shape:
            new = self._seen[0].joined(new[0]), self._seen[1].joined(new[1])
        else:
            self._rows = 0
        self._seen, self._rows = new, self._rows + len(rows)
        both = _code(rows, new[0], new[1], self._rows), _code(-rows, new[1], new[0], self._rows)
        distance, code, sign = max((*both[0], 1.0), (*both[1], -1.0))
        return {"code": sign * code, "code_distance": distance} if distance > 0 else {}


def _code(rows: Tensor, low: Lowest, high: Lowest, count: int) -> tuple[float, float]:
    """Return the distance and the value of the column whose lowest value is farthest away."""
    highest = -high.value
    distinct = (rows.sort(0).values.diff(dim=0) > 0).sum(0) + 1
    likely = (low.count >= REPEATS) & (low.count <= SHARE * count) & (low.value != 0)
    likely &= (distinct > DISTINCT) & (highest > low.other)
    distance = torch.where(likely, (low.other - low.value) / (highest - low.other), 0.0)
    column = int(distance.argmax())
    return float(distance[column]), float(low.value[column])
