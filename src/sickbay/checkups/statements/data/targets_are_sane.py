"""Longer than 60 lines: targets have one rule for each family of losses."""

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.class_outputs import class_dimension
from sickbay.checkups.loss_probes import (
    accepts,
    has_labels,
    ignores_targets,
    output_of,
    rejected_labels,
)
from sickbay.checkups.statements.loss.label_range import needs_more_outputs
from sickbay.tasks import DISTANCES


@dataclass(frozen=True, kw_only=True)
class TargetsAreSane(Statement):
    """The targets vary, and the loss can use them.

    Why it matters:
        A model can only learn what its targets say.

    How it is tested:
        In the batch as given, no NaN or Inf reaches the loss. Cross-entropy gets integer labels
        from 0 on, or rows that sum to one. Binary cross-entropy gets values from 0 to 1. Targets of
        one value for each output are not all 0 or 255, as in a mask read from an image. With at
        least `samples` samples the targets are not all equal, if the loss is known and uses them.
    """

    order = 3
    remedy = "look at the targets as the loss gets them: their file, their column, their encoding"

    samples: int = threshold(16, "Samples that must not all have the same target.", least=2)
    large: float = threshold(1e4, "Root mean square that is worth a note.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        targets = setup.given_targets
        broken = int((~targets.isfinite()).sum()) if targets.is_floating_point() else 0
        # A loss may leave out the broken ones.
        if broken and (setup.targets.isfinite().all() or not setup.first_pass.loss.isfinite()):
            return self.fails(f"{broken} of {targets.numel()} targets are NaN or Inf", wild=broken)
        first = targets.flatten()[0]
        same = len(targets) >= self.samples and bool((targets == first).all())
        if same and _loss_name(setup) and _uses_targets(setup):
            message = f"all {len(targets)} targets are {first.item():g}; is the data sorted?"
            return self.fails(message)
        message = self._odd_labels(setup, output_of(setup), targets)
        return self.fails(message) if message else self.holds(self._range(setup, targets))

    def _odd_labels(self, setup: ModelSetup, output: Tensor, targets: Tensor) -> str:
        whole, loss, floats = setup.targets.long(), _loss_name(setup), targets.is_floating_point()
        least, most = targets.min().item(), targets.max().item()
        if floats and not accepts(setup, output) and accepts(setup, output, whole):
            return f"the labels are {targets.dtype}, but the loss needs integers (torch.int64)"
        if has_labels(setup, output):
            classes = output.shape[class_dimension(output, setup.targets) or 0]
            rejected = rejected_labels(setup, output, classes)
            if needs_more_outputs(setup, classes, rejected):
                raise Inapplicable("the outputs are too few, see output_fits_the_targets")
            if least == 1 and most == classes in rejected:
                return f"the labels go from 1 to {classes}, but classes count from 0"
            if rejected and min(rejected) < 0:
                return f"the lowest label is {min(rejected)}, but classes count from 0"
            if rejected:
                return f"the highest label is {max(rejected)}, but the last class is {classes - 1}"
        elif setup.targets.shape == output.shape and loss == "cross_entropy":
            sums = targets.float().sum(class_dimension(output, setup.targets) or 1)
            wrong = int(((sums - 1).abs() > 0.01).sum() - (sums == 0).sum())
            if wrong > 0:
                return f"{wrong} of {sums.numel()} rows of probabilities do not sum to one"
        if targets.numel() // len(targets) == output.numel() // len(output) and _is_image(targets):
            return "all targets are 0 or 255, as read from an image; divide them by 255"
        if loss in ("bce", "bce_logits") and (least < -1e-6 or most > 1 + 1e-6):
            return f"the targets of {loss} range from {least:.3g} to {most:.3g}, outside 0 to 1"
        return ""

    def _range(self, setup: ModelSetup, targets: Tensor) -> str:
        message = f"targets range from {targets.min().item():.4g} to {targets.max().item():.4g}"
        size = targets.float().square().mean().sqrt().item()
        if _loss_name(setup) in DISTANCES and size > self.large:
            return f"{message}; dividing them by their standard deviation speeds up training"
        return message


def _is_image(targets: Tensor) -> bool:
    """Return whether targets are a mask in the grey values of an image."""
    black, white = targets == 0, targets == 255
    return bool(black.any() and white.any() and (black | white).all())


def _loss_name(setup: ModelSetup) -> str:
    first = setup.first_pass_or_error
    return "" if isinstance(first, Exception) else first.origin.loss


def _uses_targets(setup: ModelSetup) -> bool:
    """Return whether other targets give another loss; they may be placeholders."""
    batch, targets = setup.batch, setup.targets
    with setup.model_copy() as model, torch.no_grad():
        raw = setup.run(model, batch)
    return not ignores_targets(setup, batch, raw, [(targets == 0).to(targets)])
