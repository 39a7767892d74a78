from dataclasses import dataclass

from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.class_outputs import class_dimension
from sickbay.checkups.labels import labelled, refused
from sickbay.checkups.loss_levels import DISTANCES, answered, needs_targets, takes
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class TargetsAreSane(Statement):
    """The targets are what the loss takes, and they differ.

    Why it matters:
        A model can only learn what its targets say.

    How it is tested:
        In the batch as it was given: no NaN or Inf that reaches the loss; whole labels from 0 on
        for cross-entropy, or rows that sum to one; 0 to 1 for a binary cross-entropy; and with
        `samples` at least not all the same, if a known loss looks at them.
    """

    remedy = "look at the targets as the loss gets them: their file, their column, their coding"

    samples: int = threshold(16, "Samples that may not all have the same target.", least=2)
    large: float = threshold(1e4, "Size of numbers that is worth saying so.", above=0)

    def examine(self, case: Case) -> Result:
        targets = case.given_batch.targets
        if targets is None:
            raise Inapplicable("no targets were given")
        wild = int((~targets.isfinite()).sum()) if targets.is_floating_point() else 0
        if wild and not self._is_masked(case):
            return self.fails(f"{wild} of {targets.numel()} targets are NaN or Inf", wild=wild)
        same = len(targets) >= self.samples and bool((targets == targets.flatten()[0]).all())
        if same and self._loss(case) and needs_targets(case):
            value = targets.flatten()[0].item()
            return self.fails(f"all {len(targets)} targets are {value:g}: is the data sorted?")
        output = answered(case)
        message = self._as_classes(case, output, targets) or self._as_answers(case, targets)
        return self.fails(message) if message else self.holds(self._spoken(case, targets))

    def _is_masked(self, case: Case) -> bool:
        """Tell whether the loss leaves out what is no number."""
        return not case.targets.isfinite().all() and bool(case.seen.loss.isfinite())

    def _as_classes(self, case: Case, output: Tensor, targets: Tensor) -> str:
        whole = case.targets.long()
        if targets.is_floating_point() and not takes(case, output) and takes(case, output, whole):
            return f"labels are {targets.dtype}, the loss takes whole numbers (torch.int64)"
        if labelled(case, output):
            width = output.shape[class_dimension(output, case.targets) or 0]
            odd = refused(case, output, width)
            least, most = targets.min().item(), targets.max().item()
            if least == 1 and most == width in odd:
                return f"labels go from 1 to {width}, classes are counted from 0"
            if odd and min(odd) < 0:
                return f"there are labels down to {min(odd)}, classes are counted from 0"
            if odd:
                return f"there are labels up to {max(odd)}, the last class is {width - 1}"
        elif case.targets.shape == output.shape and self._loss(case) == "cross_entropy":
            sums = targets.float().sum(class_dimension(output, case.targets) or 1)
            off = int(((sums - 1).abs() > 0.01).sum() - (sums == 0).sum())
            if off > 0:
                return f"{off} of {sums.numel()} rows of probabilities do not sum to one"
        return ""

    def _as_answers(self, case: Case, targets: Tensor) -> str:
        loss, least, most = self._loss(case), targets.min().item(), targets.max().item()
        if loss in ("bce", "bce_logits") and (least < -1e-6 or most > 1 + 1e-6):
            return f"targets of {loss} go from {least:.3g} to {most:.3g}, outside 0 to 1"
        return ""

    def _spoken(self, case: Case, targets: Tensor) -> str:
        said = f"targets go from {targets.min().item():.4g} to {targets.max().item():.4g}"
        size = targets.float().square().mean().sqrt().item()
        if self._loss(case) in DISTANCES and size > self.large:
            return f"{said}; they are learnt faster if divided by their standard deviation"
        return said

    def _loss(self, case: Case) -> str:
        try:
            return case.seen.origin.loss
        except Inapplicable:
            return ""
