"""What the score of a run is held against: the best constant answer, and a quick reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf, isfinite, log, sqrt

# The metrics that models are compared by, the first that there is, and the sign of the better.
ORDER = (("val_metric", 1), ("val_accuracy", 1), ("val_score", 1), ("val_loss", -1))
OF_ANY_SCALE = ("val_metric", "val_loss")
POINTS = 0.05  # below the reference that matter
PART = 0.15  # of the way from the constant answer to the reference that matters
LEAST = 0.01  # above the constant answer that matter
CLEAR = 0.05  # of the way from the constant answer to 1 that a success must be above it
RARE = 0.2  # of the way from the constant answer to 1 that matters where this is less
ERRORS = 2.0  # standard errors below the reference that are no chance


def metric_in(names: Sequence[str] | Mapping[str, object]) -> tuple[str, int]:
    """Return the metric that models are compared by and the sign of the better, "" if none."""
    return next((pair for pair in ORDER if pair[0] in names), ("", 1))


def named(metric: str) -> str:
    """Return a metric as a word of a sentence."""
    return {"val_accuracy": "accuracy", "val_loss": "loss"}.get(metric, "score")


@dataclass(frozen=True)
class Yardstick:
    """Two scores to compare a score with; higher is better. None means not known.

    Attributes:
        constant: The score of the best constant answer.
        reference: The score of a quick reference model.
        metric: The metric of these scores, as `val_accuracy`.
        samples: The held-out samples that scores are measured on; 0 means no doubt about them.
        sought: Whether it was looked for. If nothing was found then, no score is a success.
        trained: The score of the reference on training samples that it has not seen, if it is so
            much lower that labels must be wrong. Then no score is a success.
        exact: Whether the reference is an exact optimum, as principal components are. Training
            comes near it slowly, so a sound run may be further below it.
        unsound: Why no score is a success whatever it is, as with inputs that are constant.

    >>> yardstick = Yardstick(constant=0.3, reference=0.95, metric="val_accuracy", samples=200)
    >>> yardstick.is_met(0.93), yardstick.is_met(0.8), yardstick.is_met(0.31)
    (True, False, False)
    """

    constant: float | None = None
    reference: float | None = None
    metric: str = ""
    samples: int = 0
    sought: bool = False
    trained: float | None = None
    unsound: str = ""
    exact: bool = False

    @property
    def known(self) -> bool:
        """Whether there is anything to compare with."""
        return self.constant is not None or self.reference is not None

    def told(self, sign: int = 1) -> str:
        """Return what the constant answer and the reference reach, in words.

        >>> Yardstick(reference=-0.25).told(sign=-1)
        'a quick reference gets 0.25'
        """
        parts = []
        if self.constant is not None:
            parts.append(f"the best constant answer gets {sign * self.constant:.3g}")
        if self.reference is not None:
            verb = "" if parts else "gets "
            parts.append(f"a quick reference {verb}{sign * self.reference:.3g}")
        if self.trained is not None:
            parts.append(f"but {sign * self.trained:.3g} on training data, as if labels were wrong")
        return ", ".join(parts)

    def is_met(self, score: float) -> bool:
        """Return whether a score is above the constant answer and not far below the reference."""
        return self.beats_constant(score) and not self.is_below_reference(score)

    def is_surely_met(self, score: float, tries: int = 1) -> bool:
        """Return whether a score may be called a success: chance excuses less than in `is_met`.

        It is the best of so many `tries`, and the best of many is above a constant by luck.

        >>> yardstick = Yardstick(constant=0.5, metric="val_accuracy", samples=160)
        >>> yardstick.is_surely_met(0.6), yardstick.is_surely_met(0.6, tries=11)
        (True, False)
        """
        good = self.trained is None and not self.unsound and self.is_near(score, tries)
        return good and not (self.known and self.is_vague(score))

    def is_near(self, score: float, tries: int = 1) -> bool:
        """Return whether a score would be a success on sound labels and enough samples."""
        if not self.known:
            return not self.sought
        excused = 0.0 if self.is_vague(score) else self._error(score)
        near = self.missing(score) <= max(self._points(), excused)
        return near and self.surely_beats_constant(score, tries)

    def is_clear(self, score: float) -> bool:
        """Return whether a score is above the constant answer by more than a trifle.

        >>> yardstick = Yardstick(constant=0.268, metric="val_accuracy", samples=9000)
        >>> yardstick.is_clear(0.28), yardstick.is_clear(0.31)
        (False, True)
        """
        constant = self._share(self.constant or 0.0)
        return self.constant is None or self._share(score) - constant >= CLEAR * (1 - constant)

    def is_vague(self, score: float) -> bool:
        """Return whether the held-out samples are too few to know a score to 5 points.

        >>> few, many = (Yardstick(metric="val_accuracy", samples=each) for each in (12, 60))
        >>> few.is_vague(1.0), many.is_vague(1.0)
        (True, False)
        """
        share, count = self._share(score), self.samples
        if self.metric == "val_accuracy":
            share = (share * count + 1) / (count + 2)  # even if none was wrong so far
        return self._doubt(share) > POINTS

    def beats_constant(self, score: float, errors: float = 1.0) -> bool:
        """Return whether a score is above the constant answer by more than chance."""
        if self.constant is None:
            return True
        share, constant = self._share(score), self._share(self.constant)
        chance = min(self._doubt(share), self._doubt(constant))
        least = min(LEAST, RARE * (1 - constant))
        return share >= 1 or share - constant > max(least, errors * chance)

    def surely_beats_constant(self, score: float, tries: int) -> bool:
        """Return whether the best score of many tries is clearly above the constant answer."""
        errors = max(ERRORS, 1 + sqrt(2 * log(tries)))
        return self.is_clear(score) and self.beats_constant(score, errors)

    def is_below_reference(self, score: float) -> bool:
        """Return whether a score is below the reference by more than 5 points and chance."""
        least = max(POINTS, self._points())
        return self.missing(score) > max(least, ERRORS * self._error(score))

    def falls_short(self, score: float) -> bool:
        """Return whether a score is below the reference by more than a success may be, and chance.

        >>> from dataclasses import replace
        >>> held = Yardstick(0.0, 0.9, "val_score", samples=900)
        >>> held.falls_short(0.8), replace(held, exact=True).falls_short(0.8)
        (True, False)
        """
        return self.missing(score) > max(self._points(), ERRORS * self._error(score))

    def missing(self, score: float) -> float:
        """Return how far a score is below the reference, as a share of what is possible.

        >>> Yardstick(constant=-20.0, reference=-5.0, metric="val_loss").missing(-10.0)
        0.25
        """
        return -inf if self.reference is None else self._share(self.reference) - self._share(score)

    def _points(self) -> float:
        """Return how far below the reference a success may be."""
        if self.constant is None or self.reference is None:
            return POINTS
        part = PART * self._span
        return part if self.exact else min(POINTS, part)

    @property
    def _span(self) -> float:
        """The way from the constant answer to the reference."""
        least, top = (self._share(each or 0.0) for each in (self.constant, self.reference))
        return max(0.0, top - least)

    def room(self, score: float) -> float:
        """Return how far a score is below a perfect one.

        >>> Yardstick(metric="val_accuracy").room(0.75)
        0.25
        """
        return 1 - self._share(score)

    def _error(self, score: float) -> float:
        """Return the standard error of how far a score is below the reference."""
        shares = self._share(score), self._share(self.reference or 0.0)
        return hypot(*map(self._doubt, shares))

    def _share(self, score: float) -> float:
        """Return a score as a share of what is possible: of a loss, what the constant lacks."""
        if not isfinite(score):
            return -1.0
        unit = self._unit
        return max(-1.0, (score - (self.constant or 0.0)) / unit) if unit else score

    @property
    def _unit(self) -> float:
        """The length of a scale without limits, 0 if scores are shares.

        It leads from the constant answer to 0, or to a reference that shows that scores go on.
        """
        least, top = self.constant, self.reference
        if self.metric not in OF_ANY_SCALE or least is None:
            return 0.0
        if self._is_plain and top is not None and top > least:
            return top - least
        return abs(least) if least < 0 or self._is_plain else 0.0

    @property
    def _is_plain(self) -> bool:
        """Whether scores are of an unknown kind, so that nobody knows what chance does to them."""
        if self.metric not in OF_ANY_SCALE or self.constant is None:
            return False
        top = self.constant if self.reference is None else max(self.constant, self.reference)
        return top > (1 if self.constant >= 0 else 0)

    def _doubt(self, share: float) -> float:
        """Return the standard error of a share: that of an accuracy, or of a squared error."""
        if not self.samples or share >= 1 or self._is_plain:
            return 0.0
        if self.metric != "val_accuracy" and share < 0.5:
            return sqrt(2 / self.samples) * (1 - share)
        return sqrt(max(0.0, share * (1 - share)) / self.samples)
