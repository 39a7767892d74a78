"""Whether the graphs of a batch change the outputs of each other."""

from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup
from sickbay.checkups.statements.sequences.samples_and_positions import altered, changes


def mixed_graphs(setup: ModelSetup, numbers: Tensor) -> tuple[int, int]:
    """Return how many outputs of other graphs change with the first one, and how many graphs.

    `numbers` says for each row of the main input to which graph it belongs.
    """
    batch, main = setup.batch, setup.batch.main
    graphs, own = int(numbers[-1]) + 1, numbers == 0
    other = main.clone()
    other[own] = altered(main[own])
    differs = changes(setup, batch, main, other)
    if len(differs) not in (graphs, len(main)):
        raise Inapplicable("the outputs have no row for each graph or node")
    others = differs[1:] if len(differs) == graphs else differs[~own]
    return int(others.reshape(len(others), -1).any(1).sum()), graphs
