import copy

import torch
from torch import Tensor, nn

from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass

STEEP = 0.5  # power of its frequency by which a class may be weighted
FEW = 2  # samples of each class needed


@dataclass(frozen=True, kw_only=True)
class TurnClassWeights(Remedy):
    """Turn the weights of the classes around, so that rare ones weigh more.

    Why it helps:
        A model ignores rare classes if weights make them even less important than they are.

    Example:
        >>> TurnClassWeights().code
        'loss.weight = 1 / loss.weight  # or loss.pos_weight'
    """

    specific = True
    code = "loss.weight = 1 / loss.weight  # or loss.pos_weight"

    def applies(self, recipe: Recipe) -> bool:
        return bool(_upside_down(recipe))

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        name = _upside_down(recipe)
        if not name:
            return None
        loss = copy.deepcopy(recipe.loss)
        setattr(loss, name, 1 / getattr(loss, name))
        return recipe.but(f"loss.{name} = 1 / loss.{name}", loss=loss)


def _upside_down(recipe: Recipe) -> str:
    """Return the name of weights that grow with the frequency of their classes, "" if none do."""
    loss, targets = recipe.loss, recipe.targets
    if targets is None or not isinstance(loss, nn.Module):
        return ""
    if isinstance(loss, nn.BCEWithLogitsLoss) and isinstance(loss.pos_weight, Tensor):
        return "pos_weight" if _slope_of_yes(loss.pos_weight, targets) > STEEP else ""
    if isinstance(loss, nn.CrossEntropyLoss | nn.NLLLoss) and isinstance(loss.weight, Tensor):
        return "weight" if _slope(loss.weight, targets) > STEEP else ""
    return ""


def _slope_of_yes(weight: Tensor, targets: Tensor) -> float:
    """Return the power of the odds of a yes by which it is weighted.

    >>> round(_slope_of_yes(torch.tensor([0.25]), torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0])), 2)
    1.0
    """
    yes = targets.reshape(len(targets), -1).double().mean(0).cpu()
    odds, heavy = (yes / (1 - yes)).log(), weight.detach().double().log().flatten().cpu()
    return _power(odds, heavy.expand_as(odds)) if heavy.numel() in (1, odds.numel()) else 0.0


def _slope(weight: Tensor, targets: Tensor) -> float:
    """Return the power of its frequency by which a class is weighted.

    >>> round(_slope(torch.tensor([0.8, 0.2]), torch.tensor([0] * 8 + [1] * 2)), 2)
    1.0
    """
    if targets.is_floating_point() or not bool(((targets >= 0) & (targets < len(weight))).all()):
        return 0.0
    often = targets.flatten().bincount(minlength=len(weight)).double().cpu()
    known = often >= FEW
    often, heavy = often[known].log(), weight.detach().double().cpu()[known].log()
    return _power(often - often.mean(), heavy - heavy.mean()) if len(often) > 1 else 0.0


def _power(often: Tensor, heavy: Tensor) -> float:
    known = often.isfinite() & heavy.isfinite()
    size = float(often[known].square().sum())
    return float(torch.dot(often[known], heavy[known])) / size if size else 0.0
