from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import Statement
from sickbay.checkups.case import Case
from sickbay.checkups.output_difference import difference
from sickbay.checkups.report import Result
from sickbay.checkups.restore_model import compiling
from sickbay.isolated_random import IsolatedRandom
from sickbay.thresholds import choice, threshold

PLAIN = "eager"  # captures graphs but makes no code of them, so it needs no compiler


@dataclass(frozen=True, kw_only=True)
class WorksWhenCompiled(Statement):
    """The compiled model puts out the same.

    Why it matters:
        `torch.compile` makes training faster, but not every model can be compiled.

    How it is tested:
        The output in evaluation with and without `torch.compile` is compared, and the breaks in the
        graph are counted. Where the default backend cannot work, as without a compiler, graphs are
        captured only, and the message says so.
    """

    severity = "warning"
    optional = True
    remedy = "TORCH_LOGS=graph_breaks shows where it breaks; leave that part uncompiled"

    backend: str = choice("inductor", "What torch.compile is given.", ("inductor", PLAIN))
    slack: float = threshold(1e-3, "Difference of the outputs, against their size.", above=0)

    def examine(self, case: Case) -> Result:
        _ = case.seen
        with case.patient() as model, IsolatedRandom(0):
            usual = case.evaluated(case.batch, model)
        note, before = "", _breaks()
        try:
            output = self._compiled(case, self.backend)
        except Exception as error:
            if self.backend == PLAIN:
                raise
            before = _breaks()
            output = self._compiled(case, PLAIN)
            note = f"; {self.backend} raised {type(error).__name__}, so graphs were only captured"
        breaks = _breaks() - before
        change = difference(usual, output)
        what = f"with {breaks} graph breaks{note}"
        if change > self.slack:
            message = (
                f"the output differs by {change:.2g} of its size (limit {self.slack:g}), {what}"
            )
            return self.fails(message, difference=change, breaks=breaks)
        return self.holds(f"the output is the same, {what}", difference=change, breaks=breaks)

    @staticmethod
    def _compiled(case: Case, backend: str) -> Tensor:
        with case.patient() as model, IsolatedRandom(0), compiling():
            compiled: Any = torch.compile(model, backend=backend)
            return case.evaluated(case.batch, compiled)


def _breaks() -> int:
    from torch._dynamo.utils import counters  # here: it takes seconds to load

    return sum(counters["graph_break"].values())
