from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.joined_samples import graph_numbers
from sickbay.checkups.statements.sequences.graphs_apart import mixed_graphs
from sickbay.checkups.statements.sequences.samples_and_positions import (
    mixed_samples,
    samples_are_first,
    second_is_apart,
    unambiguous_samples,
)


@dataclass(frozen=True, kw_only=True)
class SamplesStayApart(Statement):
    """In evaluation mode, no sample changes the output of another.

    Why it matters:
        A model that mixes samples relies on other samples, which will not be there in production.

    How it is tested:
        One of a few samples is changed. The outputs of the others must stay the same. Rows that are
        nodes of a graph are not samples, but the graphs of a batch are.
    """

    order = 2
    remedy = "look for batch_first, view instead of transpose, or a dimension that is off by one"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        numbers = graph_numbers(setup.batch.main, setup.batch.inputs)
        if numbers is not None:
            count, graphs = mixed_graphs(setup, numbers)
            message = f"changing one of {graphs} graphs changed {count} outputs of others"
            return self.fails(message, changed=count) if count else self.holds(message)
        batch = unambiguous_samples(setup.batch)
        count = mixed_samples(setup, batch, batch.sample_dim)
        if not count:
            return self.holds(f"changing one of {batch.size} samples changed no other output")
        main = batch.main
        several = main.ndim > 1 and not batch.sample_dim and main.shape[1] > 1
        if several and not samples_are_first(setup) and second_is_apart(setup, batch):
            raise Inapplicable("the second dimension of the input may count the samples")
        message = f"changing one of {batch.size} samples changed {count} of the other outputs"
        return self.fails(message, changed=count)
