from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import SampledProblem, pooled
from sickbay.vitals import rms

FAR = 10  # times the limits


@dataclass(frozen=True, kw_only=True)
class UnnormalisedInput(SampledProblem):
    """The inputs are large, and so are the outputs of the first layer.

    Why it matters:
        Initial weights and common learning rates are made for inputs around 1. Larger inputs
        saturate units and make the first updates far too large.

    How it is judged:
        The root mean square of the input batch is above `size`, and that of the first layer's
        output is above `passed`, so a first layer that normalises is fine. Where batches are small,
        both the newest batch and several batches together must show it, unless the newest is ten
        times above the limits.

    Example:
        >>> history = History()
        >>> history.add_table("batch", {"input": {"norm": 3000.0, "count": 900}})
        >>> history.add_table("activation", {"0": {"norm": 900.0, "count": 100}})
        >>> print(UnnormalisedInput().check(history).message)
        inputs are around 100 (limit 10), the first layer outputs 90 (limit 5)

    Reference:
        LeCun et al. (1998), Efficient backprop, section 4.3: normalizing the inputs.
    """

    advice = "normalise the inputs: subtract their mean, divide by their standard deviation"
    reads = ("batch",)
    explains = ("abnormal_data", "non_finite", *EVERYTHING)

    size: float = threshold(10.0, "Root mean square of the inputs that is too large.", above=0)
    passed: float = threshold(5.0, "The same for the first layer's output.", above=0)

    def check(self, history: History) -> Finding | None:
        batch, layers = history.table("batch"), history.table("activation")
        inputs = history.batch("input")
        if batch is None or not inputs or layers is None or not layers.names:
            return None
        first = layers.names[0]
        size, passed = rms(inputs), rms(layers.row(first))
        if not self._is_large(size, passed):
            return None
        if not self._is_large(size / FAR, passed / FAR):  # otherwise one sample is enough
            size = rms(pooled(self.readings(history, "batch"), "input"))
            passed = rms(pooled(self.readings(history, "activation"), first))
        if not self._is_large(size, passed):
            return None
        message = (
            f"inputs are around {size:.3g} (limit {self.size:g}), "
            f"the first layer outputs {passed:.3g} (limit {self.passed:g})"
        )
        where = (first,)
        return self.found(history, message, step=batch.step, layers=where, size=size, passed=passed)

    def _is_large(self, size: float, passed: float) -> bool:
        return size > self.size and passed > self.passed
