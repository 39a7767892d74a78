"""Longer than 60 lines: a sample is padded in steps that tell a mean from other ways to pool."""

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.compare_outputs import difference, fill_zero_weights
from sickbay.checkups.statements.sequences.embedded_tokens import padding_token
from sickbay.checkups.statements.sequences.samples_and_positions import with_places

REACHING = (nn.RNNBase, nn.Conv1d, nn.Conv2d)  # layers that read padding next to other tokens
FAR = 64  # positions of padding after which such layers have forgotten the others
SETTLED = 1e-3  # share of the first change that more padding may still add


@dataclass(frozen=True, kw_only=True)
class MeansLeaveOutPadding(Statement):
    """A mean over the positions of a sequence does not count padding.

    Why it matters:
        Otherwise the output for a text depends on the longest text in its batch.

    How it is tested:
        An embedding with a `padding_idx` says which token is padding. A sample that ends in it is
        cut, and then padded twice, the second time more. In evaluation the output must not change,
        or not change further, as a maximum does not. At least `samples` samples must end in
        padding.
    """

    order = 7
    severity = "warning"
    remedy = "divide the sum over the tokens that are no padding by their number"

    samples: int = threshold(2, "Samples that must end in padding.", least=1)
    slack: float = threshold(1e-4, "Difference of the outputs, relative to their size.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        batch = setup.batch.require_samples()
        padded = _padding(setup, batch)
        if padded is None or int(padded[:, -1].sum()) < self.samples:
            raise Inapplicable("no embedding has a padding_idx with which several samples end")
        lengths, outputs = _padded_outputs(setup, batch, padded)
        if len({each.shape for each in outputs}) > 1 or not outputs[0].ndim:
            raise Inapplicable("the model does not pool its positions")
        first, second = difference(*outputs[:2]), difference(*outputs[1:])
        shown = f"{lengths[0]}, {lengths[1]} and {lengths[2]} positions"
        if max(first, second) <= self.slack:
            return self.holds(f"a sample padded to {shown} gave the same output", change=first)
        if second <= SETTLED * first:
            message = f"a sample padded to {shown} gave an output that changed only once"
            return self.holds(message, change=first)
        change = f"its output changed by {first:.2g} of its size, and again by {second:.2g}"
        return self.fails(f"as a sample was padded to {shown}, {change}", change=first)


def _padding(setup: ModelSetup, batch: Batch) -> Tensor | None:
    """Return which tokens are padding, as samples by positions; None if no embedding says that."""
    main, token = batch.main, padding_token(setup, batch)
    if main.ndim != 2 or main.is_floating_point() or token is None:
        return None
    return main.eq(token).movedim(batch.sample_dim, 0)


def _padded_outputs(
    setup: ModelSetup, batch: Batch, padded: Tensor
) -> tuple[list[int], list[Tensor]]:
    """Return the lengths to which a sample that ends in padding is padded, and the outputs."""
    full = padded.shape[1]
    tokens = [_leading(row) if row[-1] else 0 for row in padded]
    sample = max(range(len(tokens)), key=tokens.__getitem__)
    kept = min(tokens[sample], full // 4)
    if not kept:
        raise Inapplicable("the sequences are too short, or start with padding")
    reaches = any(isinstance(each, REACHING) for each in setup.model.modules())
    more = FAR if reaches else kept
    lengths, outputs = [kept, kept + more, kept + 3 * more], []
    one = batch.select(torch.tensor([sample, sample])).to(torch.device("cpu"))
    try:
        with setup.model_copy() as model:
            fill_zero_weights(model)
            model.cpu()  # on a GPU an unknown position ends the process
            for length in lengths:
                places = torch.arange(length).where(torch.arange(length) < kept, full - 1)
                again = with_places(one, 1 - batch.sample_dim, places)
                outputs.append(setup.seeded_output(model, again))
    except Inapplicable:
        raise
    except Exception as error:
        raise Inapplicable(f"other lengths raise {type(error).__name__}") from None
    return lengths, outputs


def _leading(padded: Tensor) -> int:
    """Return how many tokens come before the first padding."""
    return int(padded.int().argmax())
