"""What a chart holds in the order of time: readings and ends of epochs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sickbay.readings import Vitals


@dataclass
class EpochEnd:
    """The end of an epoch, with what was measured over all of it."""

    epoch: int
    metrics: Mapping[str, float]


@dataclass
class Step:
    """A reading, whose tables are elsewhere: so many, from the one with the number `table` on."""

    vitals: Vitals
    table: int
    tables: int


Row: TypeAlias = Step | EpochEnd
