"""Longer than 60 lines: images must first be cut into patches."""

from math import isqrt

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.sequences.observe_attention import observed_attention
from sickbay.checkups.statements.sequences.samples_and_positions import (
    altered,
    by_position,
    changed,
    nudged_output,
    time_dimension,
    unambiguous_samples,
)


@dataclass(frozen=True, kw_only=True)
class UsesPositions(Statement):
    """A model with attention is sensitive to the order of its inputs.

    Why it matters:
        Attention alone sees a bag of tokens: "dog bites man" equals "man bites dog".

    How it is tested:
        The positions of a sequence, or the patches of an image, are reordered. The output must be
        neither the same nor merely reordered. Weights are changed slightly first, so that position
        embeddings may start at zero.
    """

    order = 6
    severity = "warning"
    remedy = "add a position embedding of shape (1, length, width) to the inputs of the attention"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        if not setup.once(observed_attention).seen:
            raise Inapplicable("the model has no attention")
        if type(setup.model).__module__.startswith("torch.nn."):
            raise Inapplicable("a building block of torch may get positions with its inputs")
        batch = unambiguous_samples(setup.batch)
        main = batch.main
        if main.ndim == 4:
            side = _patch_side(setup.model, main)
            return self._judge(
                setup, batch, nudged_output(setup, batch), main.roll(side, dims=-1), None
            )
        time = time_dimension(setup)
        length = main.shape[time]
        others = [each for each in batch.inputs if each is not main and length in each.shape]
        if length < 3 or any(bool((each != each.flatten()[:1]).any()) for each in others):
            raise Inapplicable("the sequences are too short, or have masks")
        before = nudged_output(setup, batch)
        if not _mixes_positions(setup, batch, before, time):
            raise Inapplicable("no position of the input changes the outputs of another")
        order = torch.arange(length, device=main.device).roll(1)
        return self._judge(setup, batch, before, main.index_select(time, order), order)

    def _judge(
        self, setup: ModelSetup, batch: Batch, before: Tensor, new: Tensor, order: Tensor | None
    ) -> Result:
        after = nudged_output(setup, batch.with_input(batch.main, new))
        what = "the same outputs"
        if order is not None:
            one, other = (by_position(each, batch, len(order)) for each in (before, after))
            if one is not None and other is not None:
                before, after, what = one[:, order], other, "the same outputs in that order"
        if changed(before, after).any():
            return self.holds("reordered inputs gave different outputs")
        return self.fails(f"reordered inputs gave {what}")


def _mixes_positions(setup: ModelSetup, batch: Batch, before: Tensor, time: int) -> bool:
    """Return whether a position changes outputs at others, or a pooled output."""
    main, new = batch.main, batch.main.clone()
    new.select(time, 0).copy_(altered(main).select(time, 0))
    differs = changed(before, nudged_output(setup, batch.with_input(main, new)))
    positions = by_position(differs, batch, main.shape[time])
    return positions is None or bool(positions[:, 1:].any())


def _patch_side(model: nn.Module, images: Tensor) -> int:
    """Return the side of the patches that images are first cut into."""
    side, channels = 0, images.shape[1]
    convolutions = [each for each in model.modules() if isinstance(each, nn.Conv2d)]
    if not convolutions:
        widths = [each.in_features for each in model.modules() if isinstance(each, nn.Linear)]
        sides = ((isqrt(width // channels), width) for width in widths)
        found = [side for side, width in sides if side > 1 and side**2 * channels == width]
        side = next(iter(found), 0)
    elif len(convolutions) == 1 and convolutions[0].kernel_size == convolutions[0].stride:
        side = int(convolutions[0].stride[0])
    if not side:
        raise Inapplicable("the inputs are neither sequences nor images cut into patches")
    if images.shape[-1] % side or images.shape[-2] % side or images.shape[-1] <= side:
        raise Inapplicable("the images are not cut into patches")
    return side
