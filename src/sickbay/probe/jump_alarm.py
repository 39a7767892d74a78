"""Notice cheaply that a number has jumped."""

from collections.abc import Mapping
from math import inf, isfinite

EARLY = 10  # values before the first that can ring
FADE = 0.97  # of an extreme is left after each step
JUMP, DROP = 20.0, 1e-3  # times the recent highest and lowest; of squares
LASTING = 3  # rings in a row after which the new size counts as usual
MEMORY = 0.9  # weight of the past in a running mean
USUAL = 5.0  # standard deviations


class Alarm:
    """Rings when a positive value is many times larger or smaller than it was recently.

    >>> alarm = Alarm()
    >>> any(alarm.rings(1.0 + step % 3) for step in range(50))
    False
    >>> alarm.rings(400.0), alarm.rings(1e-6)
    (True, True)
    """

    def __init__(self) -> None:
        self._high, self._low, self._count = -inf, inf, 0
        self._ringing = 0

    def rings(self, value: float) -> bool:
        """Add a value; return whether it has jumped."""
        high, low = self._high, self._low
        self._count += 1
        if self._count > EARLY and (value > JUMP * high or value < DROP * low):
            self._ringing += 1
            if self._ringing < LASTING:
                return True  # without changing what is usual
        else:
            self._ringing = 0
        self._high = value if value > high * FADE else high * FADE
        self._low = value if value < low / FADE else low / FADE
        return self._ringing > 0


class RiseAlarm:
    """Rings when a value lies far above its recent mean, relative to its variance.

    >>> alarm = RiseAlarm()
    >>> any(alarm.rings(2.0 + 0.1 * (step % 3)) for step in range(50))
    False
    >>> alarm.rings(3.5)
    True
    """

    def __init__(self) -> None:
        self._mean = self._variance = 0.0
        self._count = 0

    def rings(self, value: float) -> bool:
        """Add a value; return whether it has risen."""
        off = value - self._mean
        self._count += 1
        if self._count == 1:
            self._mean = value
            return False
        rings = self._count > EARLY and off > 0 and off * off > USUAL * USUAL * self._variance
        self._mean += (1 - MEMORY) * off
        self._variance = MEMORY * (self._variance + (1 - MEMORY) * off * off)
        return rings


class Jumps:
    """Whether the loss or the gradient norm of a step has jumped, so that it must be judged."""

    def __init__(self) -> None:
        self._losses, self._norms = RiseAlarm(), Alarm()
        self._rose: bool | None = None  # whether the current loss rose; None if not checked yet

    def rises(self, loss: float) -> bool:
        """Add the loss alone; return whether it rose. `are_in` remembers the answer."""
        self._rose = not isfinite(loss) or self._losses.rings(loss)
        return self._rose

    def are_in(self, scalars: Mapping[str, float]) -> bool:
        """Add the scalars of a step; return whether the loss or the gradient norm has jumped."""
        loss, norm = scalars.get("loss"), scalars.get("grad_norm")
        if self._rose is None and loss is not None:
            self.rises(loss)
        rose, self._rose = bool(self._rose), None
        return (norm is not None and self._norms.rings(norm * norm)) or rose

    def forget(self) -> None:
        """Forget the current loss: its step passes."""
        self._rose = None
