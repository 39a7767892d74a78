from math import inf

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import SampledProblem, pooled
from sickbay.tasks import APPLIES

REACHES = {
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, inf),
    "softplus": (0.0, inf),
}
TAKES_LOGITS = tuple(APPLIES)


@dataclass(frozen=True, kw_only=True)
class ImproperOutput(SampledProblem):
    """The activation of the last layer does not fit the targets or the loss.

    Why it matters:
        Training cannot reach values that the last activation cannot produce.

    How it is judged:
        A bounded or clipped output before a loss that expects logits; softmax over a single unit;
        or targets that lie outside the range of the activation by more than `margin` standard
        deviations. A clamp counts as a bound where it cuts off at least a quarter of the outputs.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(loss="mse", output="sigmoid", task="regression"))
        >>> target = {"minimum": -2.0, "maximum": 2.5, "variance": 1.0}
        >>> history.add_table("batch", {"target": target})
        >>> print(ImproperOutput().check(history).message)
        sigmoid outputs 0 to 1, but targets range from -2 to 2.5

    Reference:
        Zhang et al. (2021), AutoTrainer; its own rule is `published.autotrainer.ImproperOutput`.
    """

    severity = "critical"
    advice = "remove the last activation, or use the one that fits the loss and the targets"
    reads = ("batch", "epoch")
    explains = ("improper_loss", *EVERYTHING)

    samples: int = threshold(
        8, "Samples judged together, over several readings if batches are small.", least=1
    )
    margin: float = threshold(
        0.5, "Standard deviations by which targets may be out of range.", least=0
    )

    def check(self, history: History) -> Finding | None:
        message = self._mismatch(history) if history.setup.output else ""
        return self.found(history, message) if message else None

    def _mismatch(self, history: History) -> str:
        setup = history.setup
        if setup.output == "softmax" and setup.output_shape[-1:] == (1,):
            return "softmax over a single unit is always 1"
        if setup.loss in TAKES_LOGITS and setup.output in (*REACHES, "clamp"):
            return f"{setup.output} before {setup.loss}, which expects logits"
        tables, output = self.readings(history, "batch"), history.batch("output")
        target = pooled(tables, "target")
        if not target:
            return ""
        low, high = REACHES.get(setup.output, (-inf, inf))
        if setup.output == "clamp" and output and len(tables) == 1:
            # Many outputs are the same at a bound.
            if output["lower_quartile"] == output["minimum"]:
                low = output["minimum"]
            if output["upper_quartile"] == output["maximum"]:
                high = output["maximum"]
        slack = self.margin * max(target["variance"], 0.0) ** 0.5
        if target["minimum"] < low - slack or target["maximum"] > high + slack:
            wanted = f"{target['minimum']:.3g} to {target['maximum']:.3g}"
            return (
                f"{setup.output} outputs {low:.3g} to {high:.3g}, but targets range from {wanted}"
            )
        return ""
