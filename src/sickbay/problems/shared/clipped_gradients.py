"""What clipping takes off the gradients."""

from collections.abc import Container
from math import prod, sqrt

import numpy as np

from sickbay.problems.shared.base import History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.problems.shared.training_score import training_score
from sickbay.problems.shared.usual_rates import SGD_LIKE
from sickbay.vitals import Table

NEAR = 10.0  # times the `eps` of an optimizer, below which a gradient shortens its steps


@dataclass(frozen=True, kw_only=True)
class ClippingProblem(LearningProblem):
    """A problem that shows in what clipping takes off, while the model gains little.

    Clipping to a usual norm that takes almost everything off shows gradients that are too large.
    Clipping to less than that shows a limit that is too low.
    """

    factor: float = threshold(50.0, "Limit for the factor that clipping takes off.", above=1)
    norm: float = threshold(0.1, "Least norm of gradients that people clip to.", above=0)
    gain: float = threshold(0.7, "Gain of a model that learns well.", above=0)
    after: int = threshold(40, "Steps after which the gain counts.", least=0)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def almost_all(self, history: History) -> tuple[float, float] | None:
        """Return the newest norm before and after clipping, if it always takes almost all off."""
        sizes = [pair for pair in clipped(history, self.checks) if pair[1]]
        least = min((before / after for before, after in sizes), default=0.0)
        return sizes[-1] if len(sizes) >= self.checks and least > self.factor else None

    def shortens_steps(self, history: History, norm: float) -> bool:
        """Return whether steps get shorter with gradients that are clipped to this norm.

        Those of Adam and its like do not, unless gradients come near the `eps` that it adds.
        """
        setup = history.setup
        if setup.optimizer in ("", *SGD_LIKE):
            return True
        each = norm / sqrt(max(1, sum(map(prod, setup.shapes.values()))))
        return each < NEAR * setup.settings.get("eps", 0.0)

    def gains_little(self, history: History) -> bool:
        """Return whether the model learns badly, by its gain over a constant answer if known."""
        score = training_score(history, self.after)
        return self.learns_badly(history) if score is None else score.gain < self.gain


def clipped(history: History, count: int) -> list[tuple[float, float]]:
    """Return the norms before and after clipping, of the newest readings that were clipped."""
    used, unheld = history.tables("gradient", count), history.setup.unheld
    raw = {table.step: table for table in history.tables("raw_gradient", count)}
    return [
        (_size(raw[table.step], unheld), _size(table, unheld))
        for table in used
        if table.step in raw
    ]


def _size(table: Table, unheld: Container[str]) -> float:
    """Return the norm of all gradients together, without those that no optimizer uses."""
    held = [name not in unheld for name in table.names]
    return sqrt(float(np.nansum(table.column("norm")[held] ** 2)))
