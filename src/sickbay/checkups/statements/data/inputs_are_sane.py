"""Longer than 60 lines: it also finds what reaches the first layer."""

from dataclasses import replace

from torch import Tensor, nn

from sickbay.checkups.base import ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.norm_layers import TORCH_NORMS, norm_power
from sickbay.checkups.statements.sequences.embedded_tokens import vocabulary
from sickbay.probe.hooks import first_tensor
from sickbay.probe.layer_order import has_parameters

BORDER = 2  # more columns with the same constant are a border, or padding


@dataclass(frozen=True, kw_only=True)
class InputsAreSane(Statement):
    """The inputs vary, and their values have a typical size.

    Why it matters:
        Initial weights and common learning rates are made for inputs around 1.

    How it is tested:
        The batch as given contains no NaN, and not all samples are equal. The embedding of the
        input knows every token; otherwise the failure is critical. The values that reach the first
        layer with weights have a root mean square between `small` and `large`, unless that layer
        normalises. In tables of at least `samples` rows, no column varies `apart` times as much as
        another and by more than `large`. A column may be constant only at 0 or 1, like a flag, or
        at a value that several columns share, like the border of an image.
    """

    order = 2
    severity = "warning"
    remedy = "subtract the mean of the inputs and divide by their standard deviation"

    large: float = threshold(30.0, "Root mean square that is too large.", above=0)
    small: float = threshold(1e-3, "Root mean square that is too small.", least=0)
    apart: float = threshold(1e3, "Ratio between columns that is too large.", above=1)
    samples: int = threshold(32, "Rows a table needs before its columns are judged.", least=2)

    def examine(self, setup: ModelSetup) -> Result:
        batch = setup.given_batch
        numbers = [each for each in batch.inputs if each.is_floating_point()]
        broken = any(each.isnan().any() or each.isposinf().any() for each in numbers)
        if broken or bool(batch.main.isinf().any()):  # other inputs may be masks with -Inf
            return self.fails(
                "the inputs contain NaN or Inf", remedy="find out where they come from"
            )
        rows = batch.main.movedim(batch.sample_dim, 0)
        if batch.size > 1 and len(batch.inputs) == 1 and bool((rows == rows[:1]).all()):
            return self.fails(f"all {batch.size} samples are equal", remedy="look at the data")
        if not batch.main.is_floating_point():
            return self._judge_tokens(setup, batch)
        layer, reached = _first_layer_input(setup)
        size = reached.float().square().mean().sqrt().item()
        message = f"the inputs have a root mean square of {size:.3g}"
        if isinstance(layer, TORCH_NORMS) or (
            layer is not None and norm_power(layer, reached) == 0
        ):
            return self.holds(f"{message}; the first layer normalises them", size=size)
        if not self.small <= size <= self.large:
            limits = f"(limits {self.small:g} to {self.large:g})"
            return self.fails(f"{message} {limits}", size=size)
        odd = self._odd_columns(rows) if reached.shape == setup.batch.main.shape else ""
        return self.fails(odd, size=size) if odd else self.holds(message, size=size)

    def _judge_tokens(self, setup: ModelSetup, batch: Batch) -> Result:
        known, largest = vocabulary(setup, setup.batch), int(batch.main.max())
        if known is not None and largest >= known:
            message = f"the tokens go up to {largest}, but the embedding knows only {known}"
            remedy = "make the embedding larger, or replace unknown tokens"
            return replace(self.fails(message, remedy=remedy), severity="critical")
        return self.holds(f"{batch.size} samples of integers")

    def _odd_columns(self, table: Tensor) -> str:
        if table.ndim != 2 or len(table) < self.samples:
            return ""
        spreads = table.float().std(0)
        varying = spreads[spreads > 0]
        values = table[0][spreads == 0].tolist()
        constant = [each for each in values if each not in (0, 1) and values.count(each) <= BORDER]
        if constant:
            return f"{len(constant)} of {table.shape[1]} columns are always {constant[0]:.3g}"
        if not len(varying):
            return ""
        widest, narrowest = varying.max().item(), varying.min().item()
        if widest > self.large and widest > self.apart * narrowest:
            spread = f"from {narrowest:.2g} to {widest:.2g}"
            return f"standard deviations of columns range {spread} (limit {self.apart:g} times)"
        return ""


def _first_layer_input(setup: ModelSetup) -> tuple[nn.Module | None, Tensor]:
    """Return the first layer with weights and its input, since a model may scale inputs itself."""
    for layer, args in setup.layer_calls(setup.batch, nn.Module):
        value = first_tensor(args)
        if value is not None and has_parameters(layer):
            return layer, value.detach()
    return None, setup.batch.main
