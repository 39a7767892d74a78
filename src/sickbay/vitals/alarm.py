"""Noticing at once that a number has jumped, for next to nothing."""

from math import inf

EARLY = 10  # values before any can ring
FADE = 0.97  # what an extreme keeps of itself from one step to the next
JUMP, DROP = 20.0, 1e-3  # times the highest and the lowest of late; of squares
LASTING = 3  # rings in a row after which a new size counts as usual
MEMORY = 0.9  # weight of the past in a running mean
USUAL = 5.0  # standard deviations


class Alarm:
    """Rings when a value above 0 is many times as large, or as small, as it was lately.

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
        """Take in a value; tell whether it has jumped."""
        high, low = self._high, self._low
        self._count += 1
        if self._count > EARLY and (value > JUMP * high or value < DROP * low):
            self._ringing += 1
            if self._ringing < LASTING:
                return True  # and what is usual stays as it was
        else:
            self._ringing = 0
        self._high = value if value > high * FADE else high * FADE
        self._low = value if value < low / FADE else low / FADE
        return self._ringing > 0


class RiseAlarm:
    """Rings when a value lies far above its mean of late, against how much it varied.

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
        """Take in a value; tell whether it has risen."""
        off = value - self._mean
        self._count += 1
        if self._count == 1:
            self._mean = value
            return False
        rings = self._count > EARLY and off > 0 and off * off > USUAL * USUAL * self._variance
        self._mean += (1 - MEMORY) * off
        self._variance = MEMORY * (self._variance + (1 - MEMORY) * off * off)
        return rings
