from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.changed_inputs import replaced, some
from sickbay.checkups.first_pass import gradient, main_output
from sickbay.checkups.report import Result
from sickbay.checkups.vocabulary_size import vocabulary
from sickbay.thresholds import threshold

SAMPLES = 2


@dataclass(frozen=True, kw_only=True)
class SurvivesEdgeInputs(Statement):
    """Inputs that are zero, constant, tiny or large give finite outputs and gradients.

    Why it matters:
        One empty image among a million turns all weights into NaN.

    How it is tested:
        In evaluation all zeros, all ones, and the batch made tiny and large; tokens all zero, all
        the same, and all the last one known. In training, the gradient of zeros and of ones. Tokens
        that are all padding are forgiven, if one that is none makes it right.
    """

    remedy = "add eps below sqrt, log and division, as in x / (x.norm() + 1e-6)"
    large: float = threshold(20.0, "What inputs are multiplied with to be large.", above=1)

    def examine(self, case: Case) -> Result:
        seen = case.seen
        if not seen.output.isfinite().all():
            return self.skipped("the output is not finite for the batch as it is")
        batch = some(case.batch, SAMPLES)
        for name, edge in self._edges(case, batch.main):
            if why := self._wrong(case, replaced(batch, batch.main, edge)):
                spared = edge.clone()
                spared[..., 0] = batch.main.max()
                padding = not edge.is_floating_point() and edge.ndim > 1 and not edge.any()
                if not padding or self._wrong(case, replaced(batch, batch.main, spared)):
                    return self.fails(f"inputs that are {name} {why}")
        return self.holds("zero, constant and extreme inputs gave finite outputs and gradients")

    def _edges(self, case: Case, main: Tensor) -> Iterator[tuple[str, Tensor]]:
        yield "all zero", torch.zeros_like(main)
        if main.is_floating_point():
            yield "all one", torch.ones_like(main)
            yield "tiny", main * 1e-6
            yield f"{self.large:g} times as large", main * self.large
        elif main.dtype != torch.bool and (known := vocabulary(case)) is not None:
            yield "one token repeated", main.max().expand_as(main).contiguous()
            yield f"the last token, {known - 1}", torch.full_like(main, known - 1)

    def _wrong(self, case: Case, batch: Batch) -> str:
        """Say what is not finite, "" if all is; a test that raises for other reasons says no."""
        with case.patient() as model:
            if not batch.main.is_floating_point():  # on a GPU a token too many ends the process
                model, batch = model.cpu(), batch.to(torch.device("cpu"))
            try:
                output = case.evaluated(batch, model)
            except IndexError as error:
                return f"raise {type(error).__name__}: {error}"
            except Exception:
                return ""
            if not output.isfinite().all():
                return "give outputs that are NaN or Inf"
        constant = batch.main.min() == batch.main.max()
        asked = constant and (batch.main.is_floating_point() or not batch.main.any())
        return self._wild(case, batch) if asked else ""

    def _wild(self, case: Case, batch: Batch) -> str:
        """Say which gradient is not finite."""
        with case.patient(training=True) as model:
            try:
                raw = case.run(model, batch)
                loss = case.loss_of(raw, batch)
                loss = main_output(raw).square().mean() if loss is None else loss
                loss.backward()  # type: ignore[no-untyped-call]
            except Exception:
                return ""
            wild = [name for name, each in model.named_parameters() if _wild(each)]
        return f"give a gradient of {wild[0]} that is NaN or Inf" if wild else ""


def _wild(parameter: nn.Parameter) -> bool:
    found = gradient(parameter)
    return found is not None and not bool(found.isfinite().all())
