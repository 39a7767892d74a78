"""Extrapolating learning curves as in Domhan et al. (2015).

A curve is modelled as a mixture of eleven families of curves with noise. An affine-invariant Markov
chain of 100 walkers, started from least-squares fits, samples all parameters, weights and the noise
together. Newer epochs have more weight, and a curve must rise and stay below 1. Curves of the same
length are sampled at the same time, which takes a tenth of a second per curve.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]

Array: TypeAlias = NDArray[np.float64]
Family: TypeAlias = Callable[..., Any]

WALKERS, STEPS, BURNT, THINNED = 100, 600, 200, 10  # 4,000 steps give the same quantiles
STRETCH = 2.0
NOISE = 1e-3  # standard deviation, at least
KEPT = 200  # quantiles of the predicted score
log, exp = np.log, np.exp

# Each with initial parameters; x is the epoch, scores are between 0 and 1.
FAMILIES: Sequence[tuple[Family, tuple[float, ...]]] = (
    (lambda x, a, b, c: exp(a + b / x + c * log(x)), (-0.6, -0.5, 0.04)),  # vapor pressure
    (lambda x, a, b, c: c - a * exp(-b * log(x)), (0.5, 0.5, 0.8)),  # three powers
    (lambda x, a, b: log(a * log(x) + b), (0.2, 1.5)),  # log log linear
    (lambda x, a, b, c: a / (1 + exp(b * (log(c) - log(x)))), (0.7, 1.0, 1.0)),  # Hill
    (lambda x, a, b, c: a / (1 + exp(c * (log(x) - b))), (0.7, 0.1, -1.0)),  # log power
    (lambda x, a, b, c, d: c - exp(-d * log(a * x + b)), (1.0, 1.0, 0.9, 0.5)),  # four powers
    (lambda x, a, b, c, d: a - (a - b) / (1 + exp(d * log(c * x))), (0.7, 0.1, 0.5, 1.0)),  # MMF
    (lambda x, a, b, c, d: c - exp(b - a * exp(d * log(x))), (0.5, 0.0, 0.8, 0.5)),  # exponential
    (lambda x, a, b, c, d: a - (a - b) * exp(-c * exp(d * log(x))), (0.7, 0.1, 0.5, 1.0)),
    (lambda x, a, b, c, d: a - (a - b) * exp(-exp(d * log(c * x))), (0.7, 0.1, 0.5, 1.0)),
    (lambda x, a, c: c - a / log(x + 1), (0.3, 0.8)),  # inverse logarithm
)  # the two without a name: Janoschek, Weibull
ENDS = np.cumsum([len(begin) for _, begin in FAMILIES])
SIZE = int(ENDS[-1]) + len(FAMILIES) + 1  # all parameters, the weights, the noise


def foreseen(curves: Array, epochs: int, seed: int = 0) -> Array:
    """Return quantiles of the score after the last epoch for each curve, in order.

    NaN where no rising curve could be found. Scores lie between 0 and 1; a row is a curve.
    """
    rng = np.random.default_rng(seed)
    x = np.append(np.arange(1.0, curves.shape[1] + 1), epochs)
    told = np.full((len(curves), KEPT), np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        begun = [begin(curve, x, rng) for curve in curves]
        there = [place for place, walkers in enumerate(begun) if walkers is not None]
        if there:
            walkers = np.stack([each for each in begun if each is not None])
            told[there] = walked(walkers, curves[there], x, rng)
    return told


def walked(walkers: Array, curves: Array, x: Array, rng: np.random.Generator) -> Array:
    """Run the Markov chains and return quantiles of the last score of each curve."""
    chance = likelihood(walkers, curves, x)
    part, seen = WALKERS // 2, []
    for step in range(STEPS):
        for own, other in ((slice(part), slice(part, None)), (slice(part, None), slice(part))):
            stretch = (1 + (STRETCH - 1) * rng.random((len(curves), part))) ** 2 / STRETCH
            partners = walkers[:, other][:, rng.integers(part, size=part)]
            moved = partners + stretch[..., None] * (walkers[:, own] - partners)
            then = likelihood(moved, curves, x)
            gain = (SIZE - 1) * np.log(stretch) + then - chance[:, own]
            taken = np.log(rng.random(gain.shape)) < gain
            walkers[:, own] = np.where(taken[..., None], moved, walkers[:, own])
            chance[:, own] = np.where(taken, then, chance[:, own])
        if step >= BURNT and step % THINNED == 0:
            noise = walkers[..., -1] * rng.standard_normal(chance.shape)
            seen.append(mixture(walkers, x)[..., -1] + noise)
    levels = (np.arange(KEPT) + 0.5) / KEPT
    quantiles: Array = np.quantile(np.concatenate(seen, 1), levels, axis=1).T
    return quantiles


def mixture(walkers: Array, x: Array) -> Array:
    """Return the curve of every walker."""
    weights = walkers[..., ENDS[-1] : -1]
    weights = weights / weights.sum(-1, keepdims=True)
    total = np.zeros((*walkers.shape[:-1], len(x)))
    for place, (family, start) in enumerate(FAMILIES):
        first = ENDS[place] - len(start)
        parameters = (walkers[..., first + n, None] for n in range(len(start)))
        total += weights[..., place, None] * family(x, *parameters)
    return total


def likelihood(walkers: Array, curves: Array, x: Array) -> Array:
    """Return the log likelihood of each curve for each walker; x ends with the last epoch."""
    made, noise = mixture(walkers, x), walkers[..., -1]
    newer = 10 ** (np.arange(len(x) - 1) / (len(x) - 1))
    off = ((made[..., :-1] - curves[:, None]) ** 2 @ newer) / (2 * noise**2)
    chance = -off - newer.sum() * np.log(noise)
    allowed = (walkers[..., ENDS[-1] : -1] > 0).all(-1) & (noise > NOISE) & (noise < 1)
    allowed &= (made[..., -1] > made[..., 0]) & (made[..., -1] <= 1)
    return np.where(allowed & np.isfinite(chance), chance, -np.inf)


def begin(curve: Array, x: Array, rng: np.random.Generator) -> Array | None:
    """Return walkers around the least-squares fits of all families, None if none is allowed."""
    fits = [fitted(family, np.array(start), x[:-1], curve) for family, start in FAMILIES]
    share = 1 / len(FAMILIES)
    middle = np.concatenate([*fits, [share] * len(FAMILIES), [NOISE]])
    off = mixture(middle[None], x[:-1])[0] - curve
    middle[-1] = 2 * NOISE + float(np.nan_to_num(np.std(off)))
    for spread in (1e-3, 1e-2, 1e-1):
        around = middle * (1 + spread * rng.standard_normal((20 * WALKERS, SIZE)))
        chance = likelihood(around[None], curve[None], x)[0]
        allowed: Array = around[np.isfinite(chance)]
        if len(allowed) >= WALKERS:
            return allowed[:WALKERS]
    return None


def fitted(family: Family, start: Array, x: Array, y: Array) -> Array:
    """Return the parameters of a family that fit a curve best."""
    found: Array = least_squares(
        partial(residuals, family, x, y, start), start, method="lm", max_nfev=100
    ).x
    return found


def residuals(family: Family, x: Array, y: Array, start: Array, parameters: Array) -> Array:
    """Return the residuals, with a small penalty for parameters far from their initial values."""
    off = np.nan_to_num(family(x, *parameters) - y, nan=1e3, posinf=1e3, neginf=-1e3)
    return np.concatenate([np.clip(off, -1e3, 1e3), NOISE * (parameters - start)])
