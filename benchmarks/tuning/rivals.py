"""Rules that end a trial by its score alone, and the one that ends none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from benchmarks.tuning.curves import Array, foreseen
from benchmarks.tuning.half import Half
from benchmarks.tuning.search import Ending, Played

Foreseen: TypeAlias = Mapping[tuple[int, int], Array]  # by trial and epochs: draws, in order
CHECKED = (0.25, 0.5, 0.75)  # shares of the epochs after which a curve is continued


class Plain:
    """Every trial goes to its end."""

    def __init__(self, half: Half) -> None:
        pass

    def ends(self, _trial: int, _done: int, _past: Sequence[Played]) -> Ending | None:
        return None


class MedianStopping:
    """Optuna's MedianPruner as it comes.

    Once five trials went to their ends, one ends whose best score so far is below the median of
    the scores that those had at the same epoch.
    """

    startup = 5

    def __init__(self, half: Half) -> None:
        self._half = half

    def ends(self, trial: int, done: int, past: Sequence[Played]) -> Ending | None:
        over = [each.trial for each in past if not each.why]
        if len(over) < self.startup:
            return None
        middle = np.median(self._half.scores[over, done - 1])
        return Ending("median") if self._half.best[trial, done - 1] < middle else None


class Extrapolation:
    """A trial ends if its curve, continued, beats the best score so far in less than 5 % of cases.

    Domhan et al. (2015).
    """

    least = 0.05

    def __init__(self, half: Half, draws: Foreseen) -> None:
        self._half, self._draws = half, draws

    def ends(self, trial: int, done: int, past: Sequence[Played]) -> Ending | None:
        draws = self._draws.get((trial, done), ())
        if not past or not len(draws):
            return None
        best = max(self._half.best[each.trial, each.epochs - 1] for each in past)
        beating = 1 - np.searchsorted(draws, best, "right") / len(draws)
        return Ending("extrapolation") if beating < self.least else None


def checked(half: Half) -> list[int]:
    """Return the epochs after which curves are continued."""
    epochs = half.scores.shape[1]
    return sorted({round(share * epochs) for share in CHECKED} - {0, epochs})


def continued(half: Half, trials: Sequence[int]) -> dict[tuple[int, int], Array]:
    """Return what the best scores so far of trials are foreseen to be in the end, at each check.

    Scores of a loss are brought between 0 and 1 first: from twice the first loss to none at all.
    """
    told: dict[tuple[int, int], Array] = {}
    for done in checked(half):
        known = [trial for trial in trials if np.isfinite(half.best[trial, 0])]
        scores = half.best[known, :done]
        low, wide = np.zeros((len(known), 1)), np.ones((len(known), 1))
        if half.sign < 0:
            low, wide = 2 * scores[:, :1], -2 * scores[:, :1]
        draws = low + wide * foreseen((scores - low) / wide, half.scores.shape[1])
        told |= {(trial, done): row for trial, row in zip(known, draws, strict=True)}
    return {key: row for key, row in told.items() if np.isfinite(row).all()}
