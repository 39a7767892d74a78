"""Longer than 60 lines: every loss has its own rule about the last activation."""

from dataclasses import replace
from math import inf

from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.loss_probes import needs_more_than_output, output_of
from sickbay.checkups.training_passes import main_output
from sickbay.loss_probe import probe_loss
from sickbay.probe.loss_graph import activation, title
from sickbay.problems.improper_output import REACHES
from sickbay.tasks import APPLIES, DISTANCES

BOUNDED = (*REACHES, "log_softmax", "log_sigmoid")
UNBOUNDED_NODES = ("Addmm", "Mm", "Convolution", "Bmm", "Baddbmm")
CLIPPED = 0.2  # share of outputs at a bound; with fewer, a clamp is only a safeguard
UNKNOWN = "neither the graph nor calls show what the loss is made of"
USE_LOGITS = "use BCEWithLogitsLoss, or end with a sigmoid"


@dataclass(frozen=True, kw_only=True)
class OutputFitsTheLoss(Statement):
    """The last activation suits the loss.

    Why it matters:
        Outputs that are squeezed twice can never be certain; unbounded outputs can be out of range.

    How it is tested:
        The graph of the loss is read. Outputs are not bounded before a loss that takes any number.
        A negative log-likelihood gets logarithms, binary cross-entropy gets probabilities. There is
        no softmax over a single output. No target lies outside the range of the activation by more
        than `margin` times the standard deviation of the targets. A loss that the graph does not
        show is called with made-up outputs: those that the activation allows must let it fall at
        least `reach` of the way.
    """

    order = 2
    remedy = "remove the last activation, or use the loss that goes with it"

    margin: float = threshold(
        0.5, "Standard deviations by which targets may be out of range.", least=0
    )

    reach: float = threshold(0.75, "Share of its fall that outputs must allow a loss.", least=0)

    def examine(self, setup: ModelSetup) -> Result:
        if message := _rejected(setup):
            return self.fails(message, remedy=USE_LOGITS)
        first = setup.first_pass
        loss, last = first.origin.loss, first.origin.output
        if first.has_loss and not loss:
            return self._probe(setup)
        if not first.has_loss or not loss or not last:
            raise Inapplicable(UNKNOWN)
        if last == "softmax" and first.output.shape[-1:] == (1,):
            return self.fails("softmax over a single output is always 1")
        if loss in APPLIES and (last in BOUNDED or (last == "clamp" and _is_clipped(first.output))):
            twice = last.endswith(("softmax", "sigmoid"))
            why = f"applies {APPLIES[loss]} itself" if twice else "takes any number"
            return self.fails(f"{last} before {loss}, which {why}")
        if loss == "bce" and last == "linear" and title(first.origin.source) in UNBOUNDED_NODES:
            return self.fails("bce takes probabilities, not linear outputs", remedy=USE_LOGITS)
        if loss == "nll" and not last.startswith("log") and first.output.max() > 0:
            return self.fails(f"nll takes log-probabilities, not {last} outputs")
        if loss in DISTANCES and (message := self._out_of_reach(setup, last)):
            return self.fails(message)
        return self.holds(f"{loss} of {last} outputs")

    def _probe(self, setup: ModelSetup) -> Result:
        """Judge a loss that is not torch's by calling it."""
        if setup.batch.targets is None or not setup.has_loss or needs_more_than_output(setup):
            raise Inapplicable(UNKNOWN)
        output, last = _last_activation(setup)
        facts = probe_loss(
            lambda each, targets: setup.loss_of(each, replace(setup.batch, targets=targets)),
            output,
            setup.targets,
            last,
        )
        if last in BOUNDED and (facts.loss in APPLIES or facts.reach < self.reach):
            return self.fails(f"{last} before a loss that applies softmax or sigmoid itself")
        if facts.takes_probabilities:
            return self.fails("the loss takes probabilities, but gets linear outputs")
        if not last or not facts.loss:
            raise Inapplicable(UNKNOWN)
        return self.holds(f"{facts.loss}, recognised by calling the loss, of {last} outputs")

    def _out_of_reach(self, setup: ModelSetup, last: str) -> str:
        targets = setup.given_batch.targets
        low, high = REACHES.get(last, (-inf, inf))
        if targets is None or low == -inf:
            return ""
        least, most = targets.min().item(), targets.max().item()
        slack = self.margin * targets.float().std().item()
        if low - slack <= least and most <= high + slack:
            return ""
        reach = f"{last} outputs range from {low:g} to {high:g}"
        return f"{reach}, but targets from {least:.3g} to {most:.3g}"


def _rejected(setup: ModelSetup) -> str:
    """Return a message if the loss raises because outputs are not between 0 and 1."""
    if setup.batch.targets is None or not setup.has_loss:
        return ""
    output = output_of(setup)
    try:
        setup.loss_of(output, setup.batch)
    except Exception as error:
        if "between 0 and 1" not in str(error):
            return ""
    else:
        return ""
    low, high = output.min().item(), output.max().item()
    return f"the loss takes outputs from 0 to 1, but they range from {low:.3g} to {high:.3g}"


def _last_activation(setup: ModelSetup) -> tuple[Tensor, str]:
    """Return the output and the name of the activation that it comes from."""
    with setup.model_copy(training=True) as model:
        output = main_output(setup.run(model, setup.batch))
    return output.detach(), activation(output.grad_fn)[0]


def _is_clipped(output: Tensor) -> bool:
    """Return whether many outputs are at a bound."""
    least, most = output.min(), output.max()
    return bool(((output == least) | (output == most)).float().mean() > CLIPPED)
