"""Longer than 60 lines: inputs can be too large or small, or hold codes for missing values."""

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem, beats_constant
from sickbay.problems.shared.missing_values import code_fault
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import LOOK_BACK, pooled
from sickbay.problems.shared.training_score import gains_less
from sickbay.problems.shared.visible_damage import is_damaged
from sickbay.problems.vanishing_gradient import VanishingGradient
from sickbay.vitals import rms

FAR = 10  # times the limits
GAIN, PATIENCE = 0.1, 3  # gain over a constant answer that is none, after so many times `after`
BOUNDED = ("RNN", "LSTM", "GRU")  # saturate, so large inputs do not show in their outputs


@dataclass(frozen=True, kw_only=True)
class UnnormalisedInput(LearningProblem):
    """The inputs are large, and so is what the first layer makes of them, or the inputs are tiny.

    Why it matters:
        Initial weights and common learning rates are made for inputs around 1. Larger inputs
        saturate units and make the first updates far too large. Tiny inputs drown in the biases.

    How it is judged:
        The root mean square of the input batch is above `size`, and that of the first layer's
        output is above `passed`, so a first layer that normalises is fine. The outputs of a
        recurrent layer are bounded and do not count. Where batches are small, both the newest batch
        and several batches together must show it, unless the newest is ten times above the limits.
        Many models cope with such inputs. So it counts at once only above `extreme`, or if damage
        shows: dead or saturated units, vanished or exploded gradients, updates that are far too
        large, a jump of the loss or the gradient, NaN. Otherwise it counts from step `after` on,
        while the model learns badly (see `accuracy` and `loss_drop`) and does no better than a
        constant answer; and from three times `after` on, whatever the loss did, while the answers
        themselves are no better than that.
        A number that stands for missing values, such as -999, counts too: it repeats in a column,
        at least 5 times as far from the other values as these are from each other, and the model
        explains less than half of what a constant answer gets wrong. So do inputs that are all
        below `tiny`, as after two divisions by 255, if gradients have vanished, or from three times
        `after` on if the answers are no better than a constant.

    Example:
        >>> history = History()
        >>> history.add_table("batch", {"input": {"norm": 30000.0, "count": 900}})
        >>> history.add_table("activation", {"0": {"norm": 9000.0, "count": 100}})
        >>> print(UnnormalisedInput().check(history).message)
        inputs are around 1e+03 (limit 10), the first layer outputs 900 (limit 5)

    Reference:
        LeCun et al. (1998), Efficient backprop, section 4.3: normalizing the inputs.
    """

    advice = "normalise the inputs: subtract their mean, divide by their standard deviation"
    reads = ("step", "batch", "gradient", "weight", "activation")
    explains = ("abnormal_data", "non_finite", *EVERYTHING)

    size: float = threshold(10.0, "Root mean square of the inputs that is too large.", above=0)
    passed: float = threshold(5.0, "The same for the first layer's output.", above=0)
    extreme: float = threshold(
        256.0, "Root mean square of inputs that count at once; no byte is so large.", above=0
    )
    tiny: float = threshold(0.005, "Largest input that is too small.", least=0)
    after: int = threshold(100, "Steps to wait for the loss to fall.", least=0)
    loss_drop: float = threshold(
        0.7,
        "If there is no accuracy: a model whose loss fell by this share is left alone.",
        above=0,
    )

    def check(self, history: History) -> Finding | None:
        batch, layers = history.table("batch"), history.table("activation")
        inputs = history.batch("input")
        if message := code_fault(history, self.after):
            return self.found(history, message, code=history.latest("code"))
        largest = inputs.get("absmax", 0.0)
        if 0 < largest < self.tiny and self._cannot_see(history):
            message = f"inputs are at most {largest:.3g} (limit {self.tiny:g})"
            return self.found(history, message, largest=largest)
        if batch is None or not inputs or layers is None or not layers.names:
            return None
        first = layers.names[0]
        limit = 0.0 if history.setup.layers.get(first) in BOUNDED else self.passed
        size, passed = rms(inputs), newest_size(history, first)
        if not (size > self.size and passed > limit):
            return None
        if size <= FAR * self.size or passed <= FAR * limit:  # otherwise one sample is enough
            size = rms(pooled(self.readings(history, "batch"), "input"))
            passed = rms(pooled(self.readings(history, "activation"), first))
        if not (size > self.size and passed > limit) or not self._counts(history, size):
            return None
        message = (
            f"inputs are around {size:.3g} (limit {self.size:g}), "
            f"the first layer outputs {passed:.3g} (limit {limit:g})"
        )
        where = (first,)
        return self.found(history, message, step=batch.step, layers=where, size=size, passed=passed)

    def _counts(self, history: History, size: float) -> bool:
        if history.batch("input").get("nonfinite", 0) > 0 and len(history.tables("batch", 2)) < 2:
            return False  # so that a NaN in the first batch is not taken for a consequence
        if size > self.extreme or is_damaged(history):
            return True
        if self._gains_nothing(history):
            return True
        stuck = history.step >= self.after and self.learns_badly(history)
        return stuck and not beats_constant(history, self.steps(history))

    def _cannot_see(self, history: History) -> bool:
        return VanishingGradient().check(history) is not None or self._gains_nothing(history)

    def _gains_nothing(self, history: History) -> bool:
        return gains_less(history, GAIN, PATIENCE * self.after)


def newest_size(history: History, layer: str) -> float:
    """Return the newest root mean square of a layer's outputs that are not all NaN, 0 if none."""
    tables = reversed(history.tables("activation", LOOK_BACK))
    sizes = (rms(table.row(layer)) for table in tables if layer in table.names)
    return next((size for size in sizes if size > 0), 0.0)
