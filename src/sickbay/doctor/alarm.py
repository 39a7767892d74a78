"""Noticing at once that the loss or the gradient norm has jumped, for next to nothing."""

from math import inf

# Wider than what any problem tolerates would be too late, narrower costs needless judgements.
JUMP = 3.0  # times the highest of late
DROP = 0.02  # times the lowest of late
FADE = 0.97  # what an extreme keeps of itself from one step to the next
EARLY = 10  # values before any can ring


class Alarm:
    """Rings when a value lies far outside what it was lately.

    >>> alarm = Alarm()
    >>> any(alarm.rings(1.0 + step % 3) for step in range(50))
    False
    >>> alarm.rings(20.0), alarm.rings(1e-6)
    (True, True)
    """

    def __init__(self) -> None:
        self._high, self._low, self._count = -inf, inf, 0

    def rings(self, value: float) -> bool:
        """Take in a value that is above 0; tell whether it has jumped."""
        high, low = self._high, self._low
        self._count += 1
        self._high = value if value > high * FADE else high * FADE
        self._low = value if value < low / FADE else low / FADE
        return self._count > EARLY and (value > JUMP * high or value < DROP * low)
