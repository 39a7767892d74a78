from collections.abc import Iterator

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.statements.loss.loss_slopes import loss_slopes
from sickbay.checkups.statements.sequences.embedded_tokens import lookups


@dataclass(frozen=True, kw_only=True)
class LossLeavesOutPadding(Statement):
    """The loss leaves out positions that hold only padding.

    Why it matters:
        Padding is easy to predict: it lowers the loss, and teaches the model to end early.

    How it is tested:
        An embedding with a `padding_idx` says which token is padding, or else the token that fills
        up targets of different lengths and occurs nowhere else. Where both the input and the target
        are that token, the loss must have no gradient. At least `fewest` positions must be padding.
    """

    order = 6
    severity = "warning"
    remedy = "pass ignore_index to the loss, or set the labels of padding to -100"

    fewest: int = threshold(3, "Positions of padding that are needed to judge.", least=1)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass.output
        batch, targets = setup.batch.require_samples(), setup.targets
        if targets.is_floating_point():
            raise Inapplicable("the targets are not tokens")
        padded = next(_padding(setup, targets), None)
        if padded is None:
            raise Inapplicable("no token is known as the padding of inputs and targets")
        padded = padded.movedim(batch.sample_dim, 0)
        total = int(padded.sum())
        if total < self.fewest:
            raise Inapplicable(f"{total} positions of padding are too few to judge")
        slopes = loss_slopes(setup, batch, padded.shape[1])
        if slopes is None or slopes.shape[:2] != padded.shape:
            raise Inapplicable("the loss has no gradient at each position")
        counted = int(slopes.any(-1)[padded].sum())
        message = f"the loss counts {counted} of {total} positions that hold only padding"
        share = counted / total
        return self.fails(message, share=share) if counted else self.holds(message, share=share)


def _padding(setup: ModelSetup, targets: Tensor) -> Iterator[Tensor]:
    """Yield where the input of an embedding and the target are both padding."""
    for layer, tokens in lookups(setup, setup.batch):
        if tokens.ndim != 2 or tokens.numel() != targets.numel():
            continue
        aligned = targets.view_as(tokens)
        filler = layer.padding_idx
        if filler is None:
            filler = filling_token(aligned.movedim(setup.batch.sample_dim, 0))
        if filler is not None:
            padded = (tokens == filler) & (aligned == filler)
            if padded.any():
                yield padded


def filling_token(rows: Tensor) -> int | None:
    """Return the token that fills up rows of different lengths and occurs nowhere else.

    >>> filling_token(torch.tensor([[5, 2, 0, 0], [4, 0, 0, 0], [6, 3, 1, 4]]))
    0
    >>> filling_token(torch.tensor([[5, 2, 0, 0], [4, 3, 0, 0], [6, 0, 1, 4]])) is None
    True
    """
    token = int(rows[:, -1].mode().values)
    fills = (rows == token).flip(1).cumprod(1).flip(1)
    lengths = fills.sum(1)
    lengths = lengths[lengths > 0]
    ragged = len(lengths) > 1 and bool((lengths != lengths[0]).any())
    only_there = torch.equal(fills.bool(), rows == token)
    return token if token >= 0 and ragged and only_there else None
