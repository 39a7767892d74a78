"""Longer than 60 lines: outputs can disagree with the loss, the task or the targets."""

from dataclasses import replace
from math import inf, isnan

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.loss_faults import cut_off_fault, held_back, output_fault, scale_fault
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.silent_outputs import silent_share
from sickbay.problems.shared.small_batches import SampledProblem, pooled
from sickbay.tasks import APPLIES, OF_ANSWERS, OF_ONE_CLASS

REACHES = {
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, inf),
    "softplus": (0.0, inf),
}


@dataclass(frozen=True, kw_only=True)
class ImproperOutput(SampledProblem):
    """The activation of the last layer does not fit the targets or the loss.

    Why it matters:
        Training cannot reach values that the last activation cannot produce.

    How it is judged:
        A bounded or clipped output before a loss that expects logits; softmax over a single unit,
        or over labels of which several may hold; or targets that lie outside the range of the
        activation by more than `margin` standard deviations. A clamp counts as a bound where it
        cuts off at least a quarter of the outputs. In the loss, it counts where just the outputs
        outside 0 to 1 get no gradient. A last ReLU also counts where it holds outputs at 0 in
        three readings in a row, though few of their targets are 0: all outputs, or more than half
        of them in a model that still gains less than half over a constant answer after 200 steps.
        Or a constant factor of 0.02 or less, such as that of a temperature of 100, precedes a
        cross-entropy, and the model learns badly after 70 steps. A factor below 0.5 is told at the
        end of the run, if the loss is still that of ignorance though many answers are right.
        `fit` also finds a softmax over the samples, and calls a loss that is not torch's own: it
        may take probabilities, but get any number; or it may take any number, but get those of a
        tanh, which let it fall less than `reach` of the way to its least value.

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
    reads = ("batch", "epoch", "end")
    explains = ("improper_loss", *EVERYTHING)

    samples: int = threshold(
        8, "Samples judged together, over several readings if batches are small.", least=1
    )
    margin: float = threshold(
        0.5, "Standard deviations by which targets may be out of range.", least=0
    )

    reach: float = threshold(
        0.75,
        "Share of its fall that the outputs must allow a loss of the user's own.",
        least=0,
        most=1,
    )

    def check(self, history: History) -> Finding | None:
        if message := scale_fault(history):
            return self.found(history, message, scale=history.setup.scale)
        if message := held_back(history):
            found = self.found(history, message, scale=history.setup.scale)
            return replace(found, severity="info")
        message = output_fault(history.setup, self.reach) or cut_off_fault(history)
        if not message and history.setup.output:
            message = self._mismatch(history)
        if message:
            return self.found(history, message)
        if isnan(silent := silent_share(history)):
            return None
        message = f"relu holds {100 * silent:.0f} % of the outputs at 0, where they get no gradient"
        return self.found(history, message, silent=silent)

    def stands_alone(self, finding: Finding) -> bool:
        return not finding.evidence.keys().isdisjoint(("scale", "silent"))

    def _mismatch(self, history: History) -> str:
        setup = history.setup
        if setup.output == "softmax" and setup.output_shape[-1:] == (1,):
            return "softmax over a single unit is always 1"
        if setup.output == "softmax" and setup.task == "multilabel" and setup.loss in OF_ANSWERS:
            return "softmax shares 1 among labels of which several may hold"
        if setup.loss in APPLIES and setup.output in (*REACHES, "clamp"):
            return f"{setup.output} before {setup.loss}, which expects logits"
        tables, output = self.readings(history, "batch"), history.batch("output")
        target = pooled(tables, "target")
        numbered = setup.task in OF_ONE_CLASS and setup.target_shape != setup.output_shape
        if not target or numbered:  # the outputs are not compared with the numbers of classes
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
