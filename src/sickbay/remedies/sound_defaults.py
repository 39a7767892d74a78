"""Longer than 60 lines: a table of settings, and what is sound for each."""

from collections.abc import Iterator

from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.optim import Adam, AdamW, NAdam

from sickbay.errors import Declined
from sickbay.problems import ImproperInitialisation
from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass
from sickbay.remedies.change_loss import ChangeLoss
from sickbay.remedies.change_optimizer import ChangeOptimizer
from sickbay.remedies.change_output import ChangeOutput
from sickbay.remedies.draw_constant_weights import DrawConstantWeights
from sickbay.remedies.fit_loss_to_task import loss_fits
from sickbay.remedies.hold_all_parameters import HoldAllParameters
from sickbay.remedies.initialise_again import InitialiseAgain
from sickbay.remedies.loosen_clipping import LoosenClipping
from sickbay.remedies.lower_dropout import LowerDropout
from sickbay.remedies.process_data import ProcessData
from sickbay.remedies.remove_weight_decay import RemoveWeightDecay, most_decay
from sickbay.remedies.scale_targets import ScaleTargets
from sickbay.remedies.set_batch_size import SetBatchSize
from sickbay.remedies.turn_class_weights import TurnClassWeights
from sickbay.remedies.undo_output_scale import UndoOutputScale
from sickbay.remedies.unfreeze_parameters import UnfreezeParameters

FEW, MOST_DROPOUT, LEAST_CLIP = 8, 0.5, 0.1
ADAPTIVE, RATES = (Adam, AdamW, NAdam), (3e-4, 3e-3)
SPREAD, OFFSET = (0.2, 5.0), 5.0  # deviations and means of inputs that are about standard


@dataclass(frozen=True, kw_only=True)
class SoundDefaults(Remedy):
    """Set everything that is unusual to what usually works.

    Why it helps:
        Several things may be wrong at once, and then no single change shows any effect.

    Example:
        >>> SoundDefaults().words
        'set everything that is unusual to what usually works'
    """

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        made = recipe
        for part in _parts(recipe):
            try:
                made = part.prescribe(finding, made) or made
            except Declined:  # this model cannot be changed so; the others may still help
                continue
        return made if made is not recipe else None


def _parts(recipe: Recipe) -> Iterator[Remedy]:
    """Yield the remedies for what is unusual."""
    if recipe.inputs is not None:
        mean, std = recipe.inputs
        usual = (std >= SPREAD[0]) & (std <= SPREAD[1]) | (std == 0)
        if recipe.bad_samples or not bool((usual & (mean.abs() <= OFFSET)).all()):
            yield ProcessData()
    if starts_large(recipe.model):
        yield InitialiseAgain()
    yield UndoOutputScale()
    yield ChangeOutput() if loss_fits(recipe.setup) else ChangeLoss()
    yield TurnClassWeights()
    yield ScaleTargets()
    yield DrawConstantWeights()
    yield UnfreezeParameters()
    yield HoldAllParameters()
    yield LowerDropout(to=MOST_DROPOUT)
    yield RemoveWeightDecay(limit=most_decay(recipe.optimizer))
    yield LoosenClipping(limit=LEAST_CLIP)
    if recipe.batch_size < FEW:
        yield SetBatchSize(to=32)
    if type(recipe.optimizer) not in ADAPTIVE or not RATES[0] <= recipe.lr <= RATES[1]:
        yield ChangeOptimizer(to="adam")


def starts_large(model: nn.Module) -> bool:
    """Return whether a trainable layer has weights far too large for the number of its inputs.

    >>> layer = nn.Linear(100, 8)
    >>> _ = nn.init.normal_(layer.weight, std=0.1)
    >>> starts_large(layer), starts_large(nn.Linear(100, 8).apply(lambda m: m.weight.data.mul_(10)))
    (False, True)
    """
    limit = ImproperInitialisation().gain
    kernels = [each.weight for each in model.modules() if isinstance(each, (nn.Linear, _ConvNd))]
    return any(
        float(each.detach().square().mean() * each[0].numel()) > limit**2
        for each in kernels
        if each.requires_grad and each.numel()
    )
