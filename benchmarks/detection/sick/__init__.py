"""The sick runs: for each fault, variants of it."""

from benchmarks.detection.sick.convergence import CONVERGENCE
from benchmarks.detection.sick.data import DATA
from benchmarks.detection.sick.gradients import GRADIENTS
from benchmarks.detection.sick.loop import LOOP
from benchmarks.detection.sick.loss import LOSS
from benchmarks.detection.sick.output import OUTPUT
from benchmarks.detection.sick.units import UNITS
from benchmarks.detection.variant import Variant

SICK: dict[str, list[Variant]] = {
    **GRADIENTS,
    **UNITS,
    **CONVERGENCE,
    **OUTPUT,
    **LOSS,
    **DATA,
    **LOOP,
}
