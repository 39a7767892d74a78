import copy

from torch import Tensor

from sickbay.model_copies import run
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.fit_loss_to_task import Fitted
from sickbay.remedies.mean_loss import MeanLoss, sums


@dataclass(frozen=True, kw_only=True)
class UseMeanLoss(Remedy):
    """Divide a loss that sums over the batch by the number of samples.

    Why it helps:
        Gradients of a sum grow with the batch, and learning rates are made for those of a mean.

    Example:
        >>> UseMeanLoss().code
        'loss = sickbay.remedies.MeanLoss(loss)'
    """

    specific = True
    code = "loss = sickbay.remedies.MeanLoss(loss)"

    def applies(self, recipe: Recipe) -> bool:
        inner = recipe.loss.loss if isinstance(recipe.loss, Fitted) else recipe.loss
        return recipe.targets is not None and not isinstance(inner, MeanLoss)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.targets is None or not self.applies(recipe):
            return None
        outputs = run(recipe.model, recipe.example, training=False)
        if not isinstance(outputs, Tensor):
            return None
        targets = recipe.targets[: len(outputs)].to(outputs.device)
        if not sums(recipe.loss, outputs[: len(targets)], targets):
            return None
        loss = copy.deepcopy(recipe.loss)
        if isinstance(loss, Fitted):  # it stays outside, where the targets are fitted
            loss.loss = MeanLoss(loss.loss)
        else:
            loss = MeanLoss(loss)
        return recipe.but(f"loss = {loss}", loss=loss)
