"""What is heard of the losses of a step between the call of backward and its end."""

from typing import Any

from torch import Tensor, nn

from sickbay.probe.critics import PART as CRITIC
from sickbay.probe.critics import Critics
from sickbay.probe.guard import Guard
from sickbay.probe.meter import Meter
from sickbay.probe.similarity import punishes_likeness
from sickbay.probe.term_pulls import TermPulls

TERMS = "terms of the loss"


class LossListeners:
    """Hears how the terms of a loss, a generator and its critic pull, and what a loss punishes."""

    def __init__(self, guard: Guard, meter: Meter) -> None:
        self._guard = guard
        self._terms, self._critics = TermPulls(guard, meter), Critics(guard, meter)
        self._punishes: bool | None = None

    @property
    def punishes_likeness(self) -> bool:
        """Whether all losses grow as the outputs become like a constant."""
        return bool(self._punishes)

    def made(self, outputs: Tensor) -> None:
        """Hear of the outputs of a pass."""
        self._critics.made(outputs)

    def listen(self, loss: Any, source: Any, model: nn.Module) -> None:
        """Hook the graph behind a loss; `loss` and `source`, of the outputs, are its nodes."""
        self._guard.run(TERMS, self._terms.listen, loss, model)
        self._guard.run(CRITIC, self._critics.listen, loss, source, model)

    def look(self, loss: Any, source: Any) -> None:
        """Look for likenesses in a loss that compares nothing with targets."""
        if self._punishes is not False:  # as no loss before
            self._punishes = punishes_likeness(loss, source)

    def scalars(self) -> dict[str, float]:
        """Return what was heard, and forget it."""
        terms = self._guard.run(TERMS, self._terms.ratios) or {}
        return terms | (self._guard.run(CRITIC, self._critics.agreement) or {})

    def forget(self) -> None:
        """Let go of samples, gradients and hooks."""
        self._terms.forget()
        self._critics.forget()
