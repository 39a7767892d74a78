from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.shifted_targets import relation_to_targets
from sickbay.checkups.statements.loss.loss_slopes import loss_slopes
from sickbay.checkups.statements.sequences.samples_and_positions import (
    altered,
    by_position,
    changes,
)


@dataclass(frozen=True, kw_only=True)
class LabelsAreShiftedOnce(Statement):
    """Labels are the next tokens: neither those that a decoder gets, nor the ones after the next.

    Why it matters:
        A model that gets its label only copies it; one that skips a token never writes the next.

    How it is tested:
        If the labels are the inputs shifted by one, the gradient of the loss shows which label each
        output is compared with. It must be the one at the same position, not the one after it. If
        the labels are a second input, such as that of a decoder, no output may depend on the token
        at its own position.
    """

    order = 5
    remedy = (
        "shift labels by one, either in the data or in the loss: tokens[:-1] predict tokens[1:]"
    )

    share: float = threshold(0.9, "Share of positions that shows the label compared.", above=0.5)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass.output
        batch, targets = setup.batch.require_samples(), setup.targets
        time = 1 - batch.sample_dim
        tokens = [each for each in batch.inputs if each.ndim == 2 and not each.is_floating_point()]
        if targets.is_floating_point() or not tokens:
            raise Inapplicable("the targets are not tokens")
        relations = [relation_to_targets(each, targets, time) for each in tokens]
        if "same" in relations and tokens[relations.index("same")] is not batch.main:
            if _sees_own_position(setup, tokens[relations.index("same")], time):
                return self.fails("the target of each position is its own input in the decoder")
            return self.holds("no output depends on the label at its own position")
        if "next" not in relations:
            raise Inapplicable("the targets are not the next inputs")
        before = tokens[relations.index("next")]
        slopes = loss_slopes(setup, batch, before.shape[time])
        if slopes is None:
            raise Inapplicable("the loss has no gradient at each position")
        labels = targets.view_as(before).movedim(batch.sample_dim, 0)
        wanted, counts = slopes.argmin(-1), slopes.any(-1)
        same = self._agree(wanted, labels, counts)
        after = self._agree(wanted[:, :-1], labels[:, 1:], counts[:, :-1])
        if after >= self.share > same:
            message = f"{after:.0%} of the outputs are compared with the label of the next position"
            return self.fails(f"{message}, though labels are the next tokens already", share=after)
        if same < self.share:
            raise Inapplicable("the loss does not show which label an output is compared with")
        return self.holds(f"{same:.0%} of the outputs are compared with their own label")

    def _agree(self, wanted: Tensor, labels: Tensor, counts: Tensor) -> float:
        judged = counts & (labels >= 0)
        if not judged.any():
            return 0.0
        return (wanted == labels)[judged].float().mean().item()


def _sees_own_position(setup: ModelSetup, shown: Tensor, time: int) -> bool:
    """Return whether an output changes with the input at its position, in the middle."""
    place, length = shown.shape[time] // 2, shown.shape[time]
    new = shown.clone()
    new.select(time, place).copy_(altered(shown).select(time, place))
    places = by_position(changes(setup, setup.batch, shown, new), setup.batch, length)
    return places is not None and bool(places[:, place].any())
