from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import ModelSetup, Result, Statement, choice, dataclass, threshold
from sickbay.checkups.compare_outputs import difference
from sickbay.checkups.restore_model import compiler_stance
from sickbay.checkups.wording import raised

EAGER = "eager"  # captures graphs but generates no code, so it needs no compiler


@dataclass(frozen=True, kw_only=True)
class WorksWhenCompiled(Statement):
    """The compiled model gives the same output.

    Why it matters:
        `torch.compile` speeds up training, but not every model can be compiled.

    How it is tested:
        The outputs in evaluation with and without `torch.compile` are compared, and graph breaks
        are counted. If the backend fails, for example without a C++ compiler, graphs are only
        captured, and the message says so.
    """

    order = 6
    severity = "warning"
    optional = True
    remedy = "TORCH_LOGS=graph_breaks shows where it breaks; leave that part uncompiled"

    backend: str = choice("inductor", "The backend of torch.compile.", ("inductor", EAGER))
    slack: float = threshold(1e-3, "Difference of the outputs, relative to their size.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        with setup.model_copy() as model:
            usual = setup.seeded_output(model, setup.batch)
        note, before = "", _graph_breaks()
        try:
            output = _compiled_output(setup, self.backend)
        except Exception as error:
            before = _graph_breaks()
            try:
                output = _compiled_output(setup, EAGER)
            except Exception as without_backend:
                return self.fails(raised(without_backend))
            note = f"; {self.backend} raised {type(error).__name__}, so graphs were only captured"
        breaks = _graph_breaks() - before
        change = difference(usual, output)
        note = f"with {breaks} graph breaks{note}"
        if change > self.slack:
            limit = f"(limit {self.slack:g})"
            message = f"the output differs by {change:.2g} of its size {limit}, {note}"
            return self.fails(message, difference=change, breaks=breaks)
        return self.holds(f"the output is the same, {note}", difference=change, breaks=breaks)


def _compiled_output(setup: ModelSetup, backend: str) -> Tensor:
    with setup.model_copy() as model, compiler_stance("default"):
        compiled: Any = torch.compile(model, backend=backend)
        return setup.seeded_output(compiled, setup.batch)


def _graph_breaks() -> int:
    from torch._dynamo.utils import counters  # here: it takes seconds to load

    return sum(counters["graph_break"].values())
