"""Longer than 60 lines: a low loss may have reasons that are sound."""

from dataclasses import replace
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.loss.loss_levels import levels
from sickbay.tasks import DISTANCES


@dataclass(frozen=True, kw_only=True)
class StartsAtChance(Statement):
    """Before training, the loss is close to the chance level.

    Why it matters:
        A model far above that level must first unlearn; one far below it can see the answers.

    How it is tested:
        The loss in training mode is at most `above` times the chance level: ln C for C classes, ln
        2 for yes or no. If the last layer is also the embedding, the limit is `tied` times that
        level. For classes, the loss is also at least `below` times that level. A lower one is sound
        if it is as low for targets in another order, which a fitting bias explains, or if it rises
        once every weight is shuffled, as what was learnt gets lost then. Regression targets may
        have any scale, so for them the limit is `far` times the loss of predictions that are wrong
        by the size of the targets.
    """

    order = 3
    severity = "warning"
    remedy = "make the last layer's weights smaller, and check that inputs do not hold the targets"

    above: float = threshold(5.0, "Limit for the loss, as a multiple of the chance level.", above=1)
    tied: float = threshold(40.0, "The same if the last layer is also an embedding.", above=1)
    far: float = threshold(1e3, "The same for regression.", above=1)
    below: float = threshold(
        0.5, "Lower limit for the loss, as a share of the chance level.", least=0
    )

    def examine(self, setup: ModelSetup) -> Result:
        first = setup.first_pass
        loss, is_distance = first.loss.item(), first.origin.loss in DISTANCES
        known = levels(setup, setup.batch, first.output)
        if not isfinite(loss) or known.best >= known.chance:
            raise Inapplicable("the loss is not finite, or no prediction beats chance")
        ratio = (loss - known.best) / (known.chance - known.best)
        numbers: dict[str, Any] = {"loss": loss, "chance": known.chance}
        message = f"the loss is {loss:.3g}, the chance level {known.chance:.3g}"
        limit = self.far if is_distance else self.tied if _is_tied(setup.model) else self.above
        if ratio > limit:
            return self.fails(f"{message} (limit {limit:g} times that)", **numbers)
        if not is_distance and ratio < self.below:
            low = known.best + self.below * (known.chance - known.best)
            if _loss_of_others(setup) < low:
                return self.holds(f"{message}; a bias fits the targets", **numbers)
            if not _shuffled_loss(setup) < low:
                return self.holds(f"{message}: the model is already trained", **numbers)
            message = (
                f"{message} (limit {self.below:g} times that): does the model see the targets?"
            )
            return self.fails(message, **numbers)
        return self.holds(message, **numbers)


def _loss_of_others(setup: ModelSetup) -> float:
    """Return the loss of the outputs with the targets in another order."""
    targets = _shuffled(setup.targets)
    with setup.model_copy(training=True) as model:
        return _loss(setup, model, replace(setup.batch, targets=targets))


def _shuffled_loss(setup: ModelSetup) -> float:
    """Return the loss of a model whose weights are of the same sizes, but have learnt nothing."""
    with setup.model_copy(training=True) as model:
        with torch.no_grad():
            for each in model.parameters():
                each.copy_(_shuffled(each))
        return _loss(setup, model, setup.batch)


def _shuffled(values: Tensor) -> Tensor:
    order = torch.randperm(values.numel(), generator=torch.Generator().manual_seed(0))
    return values.flatten()[order.to(values.device)].view_as(values)


def _loss(setup: ModelSetup, model: nn.Module, batch: Batch) -> float:
    """Return the loss of the outputs of a model, Inf if there is none."""
    with torch.no_grad():
        found = setup.loss_of(setup.run(model, batch), batch)
    return inf if found is None else found.item()


def _is_tied(model: nn.Module) -> bool:
    """Return whether another layer shares the weight of an embedding."""
    embeddings = {id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)}
    others = [each for each in model.modules() if not isinstance(each, nn.Embedding)]
    return any(id(own) in embeddings for each in others for own in each.parameters(recurse=False))
