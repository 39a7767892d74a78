from dataclasses import dataclass

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.report import Result
from sickbay.checkups.words import several


@dataclass(frozen=True, kw_only=True)
class GradientReachesEveryParameter(Statement):
    """A gradient that is not zero reaches every trainable parameter that is used.

    Why it matters:
        What gets no gradient stays at its random start, however long the training is.

    How it is tested:
        After one forward and backward pass in training, each parameter that took part must have a
        gradient with a finite value other than zero.
    """

    remedy = "look for .detach(), .data, .item(), argmax or no_grad between it and the loss"

    def examine(self, case: Case) -> Result:
        seen = case.seen
        gradients = {name: each for name, each in seen.gradients.items() if name in seen.used}
        if not gradients:
            raise Inapplicable("no trainable parameter is used")
        cut = [name for name, each in gradients.items() if each is None]
        known = {name: each for name, each in gradients.items() if each is not None}
        wild = [name for name, each in known.items() if not each.isfinite().all()]
        zero = [name for name, each in known.items() if not each.any()]
        for names, what in ((cut, "no gradient"), (wild, "NaN or Inf"), (zero, "only zeros")):
            if names:
                message = f"{several(names, len(gradients))} got {what}"
                return self.fails(message, layers=names, reached=len(gradients) - len(names))
        return self.holds(f"all {len(gradients)} parameters got one", reached=len(gradients))
