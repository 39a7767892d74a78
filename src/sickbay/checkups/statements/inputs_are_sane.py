from dataclasses import dataclass

from torch import Tensor

from sickbay.checkups.base import Statement
from sickbay.checkups.case import Case
from sickbay.checkups.first_layer_input import entrance
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold

BORDER = 2  # more columns with the same constant are a border, or padding


@dataclass(frozen=True, kw_only=True)
class InputsAreSane(Statement):
    """The inputs are numbers of a usual size, and they differ.

    Why it matters:
        Initial weights and usual learning rates are made for inputs around 1.

    How it is tested:
        In the batch as it was given: no NaN, no two samples alike everywhere, and what
        reaches the first layer that has weights has a root mean square of `small` to `large`,
        unless that layer normalises. In tables with `samples` rows no column is `apart` times as
        wide as another and above `large`, and none is constant, but at 0 or 1, as flags are, or at
        one value with several others, as the border of pictures is.
    """

    severity = "warning"
    remedy = "subtract the mean of the inputs and divide by their standard deviation"

    large: float = threshold(30.0, "Root mean square that is too large.", above=0)
    small: float = threshold(1e-3, "Root mean square that is too small.", least=0)
    apart: float = threshold(1e3, "Ratio of columns that is too large.", above=1)
    samples: int = threshold(32, "Rows of a table that tell about its columns.", least=2)

    def examine(self, case: Case) -> Result:
        batch = case.given_batch
        numbers = [each for each in batch.inputs if each.is_floating_point()]
        broken = any(each.isnan().any() or each.isposinf().any() for each in numbers)
        if broken or bool(batch.main.isinf().any()):  # others may be masks, of -Inf
            return self.fails("the inputs hold NaN or Inf", remedy="look where they come from")
        rows = batch.main.movedim(batch.along, 0)
        if batch.size > 1 and len(batch.inputs) == 1 and bool((rows == rows[:1]).all()):
            return self.fails(f"all {batch.size} samples are the same", remedy="look at the data")
        if not batch.main.is_floating_point():
            return self.holds(f"{batch.size} samples of whole numbers")
        layer, reached = entrance(case)
        size = reached.float().square().mean().sqrt().item()
        said = f"inputs are around {size:.3g}"
        if "Norm" in layer:
            return self.holds(f"{said}, the first layer normalises them", size=size)
        if not self.small <= size <= self.large:
            limits = f"(limits {self.small:g} to {self.large:g})"
            return self.fails(f"{said} {limits}", size=size)
        message = self._columns(rows) if reached.shape == case.batch.main.shape else ""
        return self.fails(message, size=size) if message else self.holds(said, size=size)

    def _columns(self, table: Tensor) -> str:
        if table.ndim != 2 or len(table) < self.samples:
            return ""
        widths = table.float().std(0)
        varying = widths[widths > 0]
        values = table[0][widths == 0].tolist()
        still = [each for each in values if each not in (0, 1) and values.count(each) <= BORDER]
        if still:
            return f"{len(still)} of {table.shape[1]} columns never vary from {still[0]:.3g}"
        if not len(varying):
            return ""
        widest, narrowest = varying.max().item(), varying.min().item()
        if widest > self.large and widest > self.apart * narrowest:
            return f"columns vary by {narrowest:.2g} to {widest:.2g} (limit {self.apart:g} times)"
        return ""
