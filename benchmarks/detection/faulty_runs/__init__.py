"""Runs with a fault: several variants of each."""

from benchmarks.detection.faulty_runs.dead_units import UNITS
from benchmarks.detection.faulty_runs.gradients import GRADIENTS
from benchmarks.detection.faulty_runs.input_data import DATA
from benchmarks.detection.faulty_runs.learning_rate import CONVERGENCE
from benchmarks.detection.faulty_runs.loss_and_targets import LOSS
from benchmarks.detection.faulty_runs.output_activation import OUTPUT
from benchmarks.detection.faulty_runs.training_loop import LOOP
from benchmarks.detection.run_variants import Variant

FAULTY: dict[str, list[Variant]] = {
    **GRADIENTS,
    **UNITS,
    **CONVERGENCE,
    **OUTPUT,
    **LOSS,
    **DATA,
    **LOOP,
}
