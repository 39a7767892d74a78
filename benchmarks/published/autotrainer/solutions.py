"""AutoTrainer's solutions S1 to S9, and the remedies that carry them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sickbay.remedies import Remedy
from sickbay.remedies.published.autotrainer import SOLUTIONS

# By the name of a remedy: the number of the solution in the paper. The first ones of each number
# are those of the strategy `autotrainer`, the others do the same in `race`.
NUMBERS: Mapping[str, str] = {
    "insert_normalisation": "S1",
    "replace_activation": "S2",
    "fit_output_to_task": "S2",
    "change_output": "S2",
    "clip_values": "S3",
    "initialise_again": "S4",
    "set_batch_size": "S5",
    "enlarge_batch": "S5",
    "set_learning_rate": "S6",
    "usual_learning_rate": "S6",
    "scale_learning_rate": "S6",
    "use_another_optimizer": "S7",
    "change_optimizer": "S7",
    "change_loss": "S8",
    "normalise_data": "S9",
    "process_data": "S9",
}
# By problem: its solutions in the default order of the paper (its Table 6).
ORDER: Mapping[str, tuple[str, ...]] = {
    "vanishing_gradient": ("S2", "S1"),
    "exploding_gradient": ("S2", "S1", "S3"),
    "dying_relu": ("S2", "S1", "S4"),
    "oscillating_accuracy": ("S7", "S6", "S4", "S5"),
    "slow_convergence": ("S7", "S6", "S4"),
    "improper_output": ("S2",),
    "improper_loss": ("S8",),
    "abnormal_data": ("S9",),
}


def number_of(remedy: str) -> str:
    """Return the solution that a remedy belongs to, or its own name if the paper has none.

    >>> number_of("replace_activation to=selu"), number_of("warm_up steps=100")
    ('S2', 'warm_up')
    """
    name = remedy.split(" ")[0]
    return NUMBERS.get(name, name)


def remedies_of(problem: str, solution: str) -> Sequence[Remedy]:
    """Return the remedies that carry out one solution for a problem."""
    return [each for each in SOLUTIONS[problem] if number_of(each.key) == solution]
