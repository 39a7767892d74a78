"""Problems: one file each. To add one, copy a file and its test, and list it here in one line."""

from sickbay.problems.base import Problem as Problem
from sickbay.problems.dying_relu import DyingRelu as DyingRelu
from sickbay.problems.exploding_gradient import ExplodingGradient as ExplodingGradient
from sickbay.problems.non_finite import NonFinite as NonFinite
from sickbay.problems.vanishing_gradient import VanishingGradient as VanishingGradient
