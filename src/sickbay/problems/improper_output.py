from dataclasses import dataclass
from math import inf

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import SampledProblem, pooled
from sickbay.thresholds import threshold

REACHES = {
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, inf),
    "softplus": (0.0, inf),
}
TAKES_LOGITS = ("cross_entropy", "bce_logits")


@dataclass(frozen=True, kw_only=True)
class ImproperOutput(SampledProblem):
    """The activation of the last layer does not fit the targets or the loss.

    Why it matters:
        What the last activation cannot put out, no training can reach.

    How it is judged:
        A bounded or clipped output before a loss that takes logits; softmax over a single unit; or
        targets further outside the range of the activation than `margin` of their standard
        deviation (of a clamp, the range that a quarter of the outputs is cut off at).

    Example:
        >>> from sickbay.vitals import Setup, Table, Vitals
        >>> history = History(Setup(loss="mse", output="sigmoid", task="regression"))
        >>> target = {"minimum": -2.0, "maximum": 2.5, "variance": 1.0}
        >>> table = Table.of("batch", 0, {"target": target})
        >>> history.append(Vitals(step=0, tables=[table]))
        >>> print(ImproperOutput().check(history).message)
        sigmoid puts out 0 to 1, the targets go from -2 to 2.5

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system, whose own rule is `published.autotrainer.ImproperOutput`.
    """

    severity = "critical"
    advice = "let the last layer be linear, or use the activation that the loss and targets ask for"
    reads = ("batch", "epoch")
    explains = ("improper_loss", *EVERYTHING)

    samples: int = threshold(
        8, "Samples that are judged together, over several readings if batches are small.", least=1
    )
    margin: float = threshold(0.5, "Standard deviations that targets may be out of reach.", least=0)

    def check(self, history: History) -> Finding | None:
        message = self._mismatch(history) if history.setup.output else ""
        return self.found(history, message) if message else None

    def _mismatch(self, history: History) -> str:
        setup = history.setup
        if setup.output == "softmax" and setup.output_shape[-1:] == (1,):
            return "softmax over a single unit is always 1"
        if setup.loss in TAKES_LOGITS and setup.output in (*REACHES, "clamp"):
            return f"{setup.output} before {setup.loss}, which takes any number"
        tables, output = self.readings(history, "batch"), history.batch("output")
        target = pooled(tables, "target")
        if not target:
            return ""
        low, high = REACHES.get(setup.output, (-inf, inf))
        if setup.output == "clamp" and output and len(tables) == 1:
            # A bound is where many outputs are the same.
            if output["lower_quartile"] == output["minimum"]:
                low = output["minimum"]
            if output["upper_quartile"] == output["maximum"]:
                high = output["maximum"]
        slack = self.margin * max(target["variance"], 0.0) ** 0.5
        if target["minimum"] < low - slack or target["maximum"] > high + slack:
            reach = f"{setup.output} puts out {low:.3g} to {high:.3g}"
            return (
                f"{reach}, the targets go from {target['minimum']:.3g} to {target['maximum']:.3g}"
            )
        return ""
