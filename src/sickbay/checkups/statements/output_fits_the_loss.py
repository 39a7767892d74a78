from dataclasses import dataclass
from math import inf

from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.loss_levels import DISTANCES, answered, wants_probabilities
from sickbay.checkups.report import Result
from sickbay.probe.loss_graph import title
from sickbay.problems.improper_output import REACHES
from sickbay.thresholds import threshold

APPLIES = {"cross_entropy": "softmax", "bce_logits": "sigmoid"}
CUT = (*REACHES, "log_softmax", "log_sigmoid")
PLAIN = ("Addmm", "Mm", "Convolution", "Bmm", "Baddbmm")  # nodes of layers that bound nothing
CLIPPED = 0.2  # share of outputs at a bound; with fewer, a clamp only guards


@dataclass(frozen=True, kw_only=True)
class OutputFitsTheLoss(Statement):
    """The last activation is what the loss takes.

    Why it matters:
        Outputs that are squeezed twice, or not at all, can never be sure or never be right.

    How it is tested:
        From the graph behind the loss: nothing cuts outputs off before a loss that takes any
        number, a log-likelihood gets logarithms, a binary cross-entropy probabilities, there is no
        softmax over one output, and no target that the activation cannot put out, `margin`
        of their standard deviation aside.
    """

    remedy = "take the last activation away, or use the loss that goes with it"

    margin: float = threshold(0.5, "Standard deviations that targets may be out of reach.", least=0)

    def examine(self, case: Case) -> Result:
        message = self._wants_probabilities(case)
        if message:
            return self.fails(message, remedy="use BCEWithLogitsLoss, or end with a sigmoid")
        seen = case.seen
        loss, last = seen.origin.loss, seen.origin.output
        if not seen.compared or not loss or not last:
            raise Inapplicable("it is not known what the loss is made of")
        if last == "softmax" and seen.output.shape[-1:] == (1,):
            return self.fails("softmax over a single output is always 1")
        if loss in APPLIES and (last in CUT or (last == "clamp" and _clipped(seen.output))):
            double = last.endswith(("softmax", "sigmoid"))
            why = f"applies {APPLIES[loss]} itself" if double else "takes any number"
            return self.fails(f"{last} before {loss}, which {why}")
        if loss == "bce" and last == "linear" and title(seen.origin.source) in PLAIN:
            return self.fails(
                "bce takes probabilities, not linear outputs",
                remedy="use BCEWithLogitsLoss, or end with a sigmoid",
            )
        if loss == "nll" and not last.startswith("log") and seen.output.max() > 0:
            return self.fails(f"nll takes logarithms of probabilities, not {last} outputs")
        message = self._out_of_reach(case, loss, last)
        if message:
            return self.fails(message)
        return self.holds(f"{loss} of {last} outputs")

    def _wants_probabilities(self, case: Case) -> str:
        """Say so if the loss raises an error because outputs are not from 0 to 1."""
        if case.batch.targets is None or not case.has_loss:
            return ""
        output = answered(case)
        if not wants_probabilities(case, output):
            return ""
        low, high = output.min().item(), output.max().item()
        return f"the loss takes outputs from 0 to 1, they go from {low:.3g} to {high:.3g}"

    def _out_of_reach(self, case: Case, loss: str, last: str) -> str:
        targets = case.given_batch.targets
        low, high = REACHES.get(last, (-inf, inf))
        if loss not in DISTANCES or targets is None or low == -inf:
            return ""
        least, most = targets.min().item(), targets.max().item()
        slack = self.margin * targets.float().std().item()
        if low - slack <= least and most <= high + slack:
            return ""
        reach = f"{last} puts out {low:g} to {high:g}"
        return f"{reach}, the targets go from {least:.3g} to {most:.3g}"


def _clipped(output: Tensor) -> bool:
    """Tell whether many outputs are cut off."""
    least, most = output.min(), output.max()
    return bool(((output == least) | (output == most)).float().mean() > CLIPPED)
