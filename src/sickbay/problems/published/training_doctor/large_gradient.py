from dataclasses import dataclass

import numpy as np

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.base import Problem
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class LargeGradient(Problem):
    """The global gradient norm is large, or jumps above its own recent level.

    Why it matters:
        One oversized step can undo many good ones.

    How it is judged:
        The newest norm is above `limit`, or above the mean of the `window` norms before it by more
        than `sigmas` of their standard deviations; the latter needs a full window.

    Example:
        >>> history = History(grad_norm=[1.0, 1.5, 1.0, 1.5, 4.0])
        >>> print(LargeGradient(window=4).check(history).message)
        gradient norm 4 (limit 2)

    Reference:
        Training Doctor: automated diagnosis and treatment of neural network training pathologies
        (authors not named); thresholds as given there.
    """

    advice = "halve the learning rate, and clip the gradient norm to 1"
    reads = ("step",)

    limit: float = threshold(10.0, "Gradient norm that is too large at any time.", above=0)
    sigmas: float = threshold(3.0, "Standard deviations above the mean that are too many.", above=0)
    window: int = threshold(50, "Norms before the newest that set the mean.", least=2)

    def check(self, history: History) -> Finding | None:
        timed = history.timed("grad_norm", self.window + 1)
        if not timed:
            return None
        *before, (step, norm) = timed
        limit = self.limit
        if len(before) == self.window:
            norms = np.array([value for _, value in before])
            with np.errstate(all="ignore"):  # what cannot be computed is NaN and no limit
                usual = float(np.mean(norms) + self.sigmas * np.std(norms))
            limit = usual if usual < limit else limit
        if not norm > limit:
            return None
        message = f"gradient norm {norm:.3g} (limit {limit:.3g})"
        return self.found(history, message, step=step, norm=norm, limit=limit)
