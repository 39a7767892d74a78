from dataclasses import dataclass

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.report import Result
from sickbay.checkups.wording import counted, several


@dataclass(frozen=True, kw_only=True)
class GradientReachesEveryParameter(Statement):
    """A gradient that is not zero reaches every trainable parameter that is used.

    Why it matters:
        What gets no gradient stays at its random start, however long the training is.

    How it is tested:
        After one forward and backward pass in training, each parameter that took part must have a
        gradient with a finite value other than zero. Where it is zero, a few small steps may mend
        that, as with layers that start at zero. A bias may have none where its layer's weight has,
        and so may the recurrent weights of a direction of which one step is used.
    """

    remedy = "look for .detach(), .data, .item(), argmax or no_grad between it and the loss"

    def examine(self, case: Case) -> Result:
        seen = case.seen
        gradients = {name: each for name, each in seen.gradients.items() if name in seen.used}
        if not gradients:
            raise Inapplicable("no trainable parameter is used")
        known = {name: each for name, each in gradients.items() if each is not None}
        wild = [name for name, each in known.items() if not each.isfinite().all()]
        late = {} if wild or seen.reached >= gradients.keys() else gradients
        missed = [name for name in late if name not in case.reached]
        cut = [name for name in missed if name not in known]
        missed = [name for name in missed if not self._needless(name, case)]
        for names, what in ((wild, "NaN or Inf"), (cut, "no gradient"), (missed, "only zeros")):
            if names:
                message = f"{several(names, len(gradients))} got {what}"
                return self.fails(message, layers=names, reached=len(gradients) - len(names))
        return self.holds(
            f"it reaches {counted(len(gradients), 'parameter')}", reached=len(gradients)
        )

    @staticmethod
    def _needless(name: str, case: Case) -> bool:
        """Tell whether it is a shift that a norm or a softmax undoes, or recurrent in one step."""
        if "_hh" in name and name.replace("_hh", "_ih") in case.reached:
            return True
        shapes = {each: value.ndim for each, value in case.model.named_parameters()}
        layer = name.rpartition(".")[0]
        beside = [each for each in case.reached if each.rpartition(".")[0] == layer]
        return shapes[name] < 2 and any(shapes[each] > 1 for each in beside)
