"""Whether a model visibly suffers, whatever the cause."""

from sickbay.problems.dead_units import DeadUnits
from sickbay.problems.dying_relu import DyingRelu
from sickbay.problems.exploding_gradient import ExplodingGradient
from sickbay.problems.gradient_spike import GradientSpike
from sickbay.problems.learning_rate_too_high import LearningRateTooHigh
from sickbay.problems.loss_spike import LossSpike
from sickbay.problems.non_finite import NonFinite
from sickbay.problems.saturated_activation import SaturatedActivation
from sickbay.problems.shared.base import History, Problem
from sickbay.problems.vanishing_gradient import VanishingGradient

DAMAGE: tuple[Problem, ...] = (
    NonFinite(),
    ExplodingGradient(),
    LearningRateTooHigh(),
    DeadUnits(),
    SaturatedActivation(),
    VanishingGradient(),
    DyingRelu(),
    LossSpike(),
    GradientSpike(),
)


def is_damaged(history: History) -> bool:
    """Return whether one of these problems shows, with its usual thresholds."""
    return any(each.check(history) for each in DAMAGE)
