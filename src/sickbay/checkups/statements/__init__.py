"""The tests, each a statement that should hold, in the order they are run."""

from sickbay.checkups.base import Statement
from sickbay.checkups.statements.gradient_reaches_every_parameter import (
    GradientReachesEveryParameter,
)
from sickbay.checkups.statements.runs_on_the_batch import RunsOnTheBatch

__all__ = ["EVERY", "GradientReachesEveryParameter", "RunsOnTheBatch"]

EVERY: tuple[type[Statement], ...] = (RunsOnTheBatch, GradientReachesEveryParameter)
