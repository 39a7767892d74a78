import torch

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.shifted_targets import relation_to_targets
from sickbay.checkups.statements.loss.loss_slopes import loss_slopes


@dataclass(frozen=True, kw_only=True)
class LabelsAreShiftedOnce(Statement):
    """Labels that are the next tokens already are not shifted again by the loss.

    Why it matters:
        A model that is trained to skip a token never learns to write the next one.

    How it is tested:
        This applies if the labels are the inputs shifted by one. The gradient of the loss shows
        which label each output is compared with: it must be the one at the same position, not the
        one after it.
    """

    order = 5
    remedy = "pass the tokens themselves as labels, or leave out the shift in the loss"

    share: float = threshold(0.9, "Share of positions that shows the label compared.", above=0.5)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass.output
        batch, targets = setup.batch.require_samples(), setup.targets
        time = 1 - batch.sample_dim
        main = batch.main
        if targets.is_floating_point() or main.is_floating_point() or main.ndim != 2:
            raise Inapplicable("the targets are not tokens")
        if relation_to_targets(main, targets, time) != "next":
            raise Inapplicable("the targets are not the next inputs")
        length = main.shape[time]
        slopes = loss_slopes(setup, batch, length)
        if slopes is None:
            raise Inapplicable("the loss has no gradient at each position")
        labels = targets.view_as(main).movedim(batch.sample_dim, 0)
        wanted, counts = slopes.argmin(-1), slopes.any(-1)
        same = self._agree(wanted, labels, counts)
        after = self._agree(wanted[:, :-1], labels[:, 1:], counts[:, :-1])
        if after >= self.share > same:
            message = f"{after:.0%} of the outputs are compared with the label of the next position"
            return self.fails(f"{message}, though labels are the next tokens already", share=after)
        if same < self.share:
            raise Inapplicable("the loss does not show which label an output is compared with")
        return self.holds(f"{same:.0%} of the outputs are compared with their own label")

    def _agree(self, wanted: torch.Tensor, labels: torch.Tensor, counts: torch.Tensor) -> float:
        judged = counts & (labels >= 0)
        if not judged.any():
            return 0.0
        return (wanted == labels)[judged].float().mean().item()
