"""Gradient norms that leave a fixed or a recent range."""

import numpy as np

from sickbay.problems.published.training_doctor.suggesting_base import SuggestingProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class NormOutlierProblem(SuggestingProblem):
    """A gradient norm beyond `limit`, or beyond the mean of those before it by `sigmas`."""

    reads = ("step",)

    limit: float = threshold(1.0, "Gradient norm that is out of range at any time.", above=0)
    sigmas: float = threshold(3.0, "Standard deviations from the mean that are too many.", above=0)
    window: int = threshold(50, "Earlier norms that the mean is taken over.", least=2)

    def outlier(self, history: History, sign: int) -> Finding | None:
        """Return a finding if the newest norm is too large (`sign` 1) or too small (`sign` -1)."""
        timed = history.timed("grad_norm", self.window + 1)
        if not timed:
            return None
        *before, (step, norm) = timed
        limit = self.limit
        if len(before) == self.window:
            norms = np.array([value for _, value in before])
            with np.errstate(all="ignore"):  # NaN is no limit
                usual = float(np.mean(norms) + sign * self.sigmas * np.std(norms))
            limit = usual if sign * usual < sign * limit else limit
        if not sign * norm > sign * limit:
            return None
        message = f"gradient norm {norm:.3g} (limit {limit:.3g})"
        return self.found(history, message, step=step, norm=norm, limit=limit)
