"""The seven rules of BTTackler, as in its paper or as in the code published with it."""

from typing import Literal, TypeAlias, get_args

from sickbay.arguments import check_choice
from sickbay.problems.published import bttackler, bttackler_paper
from sickbay.problems.shared.base import Problem

Rules: TypeAlias = Literal["paper", "code"]


def problems(rules: Rules) -> tuple[Problem, ...]:
    """Return the seven rules, AGV, EAG, ERG, PLC, LAR, ULC and NMG, in this order.

    The profiles `bttackler` (the code's rules) and `bttackler_paper` hold them.

    >>> [each.name() for each in problems("paper")][-3:]
    ['low_activation', 'unexpected_loss', 'no_more_gain']
    >>> problems("paper") == problems("code")
    False
    """
    check_choice("choice for rules", rules, get_args(Rules))
    own = bttackler_paper if rules == "paper" else bttackler
    return (
        own.AbnormalGradient(),
        own.AmplifiedGradient(),
        own.ReducedGradient(),
        own.PassiveLoss(),
        own.LowActivation(),
        bttackler.UnexpectedLoss(),
        own.NoMoreGain(),
    )
