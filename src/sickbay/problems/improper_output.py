from dataclasses import dataclass
from math import inf

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.groups import EVERYTHING
from sickbay.problems.learning import best_accuracy
from sickbay.problems.sampled import SampledProblem, pooled
from sickbay.thresholds import threshold

REACHES = {
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, inf),
    "softplus": (0.0, inf),
}
TAKES_LOGITS = ("cross_entropy", "bce_logits")
RECOMMENDED = {
    "binary": ("sigmoid",),
    "multiclass": ("softmax", "log_softmax"),
    "next_token": ("softmax", "log_softmax"),
    "multilabel": ("sigmoid",),
    "regression": ("linear",),
}


@dataclass(frozen=True, kw_only=True)
class ImproperOutput(SampledProblem):
    """The activation of the last layer does not fit the targets or the loss.

    Why it matters:
        What the last activation cannot put out, no training can reach.

    How it is judged:
        A bounded or clipped output before a loss that takes logits; softmax over a single unit; or
        targets further outside the range of the activation than `margin` of their standard
        deviation (of a clamp, the range that a quarter of the outputs is cut off at). With
        `strict`, as in the paper: any activation but the one recommended for the
        task, while the accuracy is low.

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
        system; `strict` is its rule, with logits allowed before losses that take them.
    """

    severity = "critical"
    advice = "let the last layer be linear, or use the activation that the loss and targets ask for"
    reads = ("batch", "epoch")
    explains = ("improper_loss", *EVERYTHING)

    samples: int = threshold(
        8, "Samples that are judged together, over several readings if batches are small.", least=1
    )
    margin: float = threshold(0.5, "Standard deviations that targets may be out of reach.", least=0)
    strict: int = threshold(0, "1: judge by the recommended activations, as published.", least=0)
    accuracy: float = threshold(0.7, "With `strict`: above it the model is left alone.", least=0)

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        if not setup.output:
            return None
        message = self._against_the_paper(history) if self.strict else self._provable(history)
        return self.found(history, message) if message else None

    def _provable(self, history: History) -> str:
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

    def _against_the_paper(self, history: History) -> str:
        setup = history.setup
        fitting = RECOMMENDED.get(setup.task, ())
        if setup.loss in TAKES_LOGITS:
            fitting = ("linear",)
        if not fitting or setup.output in fitting:
            return ""
        if not -inf < best_accuracy(history) <= self.accuracy:
            return ""
        return f"{setup.output} for {setup.task}, where {' or '.join(fitting)} is right"
