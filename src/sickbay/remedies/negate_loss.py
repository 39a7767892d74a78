from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.negated_loss import NegatedLoss

SIGN = "wrong sign"  # what a finding says of such a loss


@dataclass(frozen=True, kw_only=True)
class NegateLoss(Remedy):
    """Change the sign of the loss.

    Why it helps:
        A likelihood, or any score that should be high, is minimised by mistake.

    Example:
        >>> NegateLoss().code
        'loss = sickbay.remedies.NegatedLoss(loss)'
    """

    code = "loss = sickbay.remedies.NegatedLoss(loss)"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        reversed_ = SIGN in finding.message or recipe.setup.wrong_sign
        if not reversed_ or isinstance(recipe.loss, NegatedLoss):
            return None
        loss = NegatedLoss(recipe.loss)
        return recipe.but(f"loss = {loss}", loss=loss)
