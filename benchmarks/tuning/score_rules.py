"""Rules that end a trial by its score alone, and the rule that ends none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from benchmarks.tuning.curve_extrapolation import Array, foreseen
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.simulated_search import Ending, SimulatedTrial

Foreseen: TypeAlias = Mapping[tuple[int, int], Array]  # sorted draws, by trial and epochs done
CHECKED = (0.25, 0.5, 0.75)  # fractions of the epochs after which a curve is extrapolated


class Plain:
    """Ends no trial."""

    def ends(self, _trial: int, _done: int, _past: Sequence[SimulatedTrial]) -> Ending | None:
        return None


class MedianStopping:
    """Optuna's MedianPruner with its defaults.

    Once five trials went to their ends, one ends whose best score so far is below the median of
    the scores that those had at the same epoch.
    """

    startup = 5

    def __init__(self, part: Part) -> None:
        self._part = part

    def ends(self, trial: int, done: int, past: Sequence[SimulatedTrial]) -> Ending | None:
        over = [each.trial for each in past if not each.why]
        if len(over) < self.startup:
            return None
        scores = self._part.scores[over, done - 1]
        known = scores[np.isfinite(scores)]
        if not len(known):
            return None
        return Ending("median") if self._part.best[trial, done - 1] < np.median(known) else None


class Extrapolation:
    """Ends a trial whose extrapolated curve beats the best so far in less than 5 % of cases.

    Domhan et al. (2015).
    """

    least = 0.05

    def __init__(self, part: Part, draws: Foreseen) -> None:
        self._part, self._draws = part, draws

    def ends(self, trial: int, done: int, past: Sequence[SimulatedTrial]) -> Ending | None:
        draws = self._draws.get((trial, done), ())
        if not past or not len(draws):
            return None
        best = max(self._part.best[each.trial, each.epochs - 1] for each in past)
        beating = 1 - np.searchsorted(draws, best, "right") / len(draws)
        return Ending("extrapolation") if beating < self.least else None


def checked(part: Part) -> list[int]:
    """Return the epochs after which curves are extrapolated."""
    epochs = part.scores.shape[1]
    return sorted({round(share * epochs) for share in CHECKED} - {0, epochs})


def continued(part: Part, trials: Sequence[int]) -> dict[tuple[int, int], Array]:
    """Return the predicted final scores of trials at each check.

    Scores of a loss are brought between 0 and 1 first: from twice the first loss to none at all.
    """
    told: dict[tuple[int, int], Array] = {}
    for done in checked(part):
        known = [trial for trial in trials if np.isfinite(part.best[trial, 0])]
        scores = part.best[known, :done]
        low, wide = np.zeros((len(known), 1)), np.ones((len(known), 1))
        if part.sign < 0:
            low, wide = 2 * scores[:, :1], -2 * scores[:, :1]
        draws = low + wide * foreseen((scores - low) / wide, part.scores.shape[1])
        told |= {(trial, done): row for trial, row in zip(known, draws, strict=True)}
    return {key: row for key, row in told.items() if np.isfinite(row).all()}
