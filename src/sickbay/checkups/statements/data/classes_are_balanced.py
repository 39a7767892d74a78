import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.loss_probes import output_of


@dataclass(frozen=True, kw_only=True)
class ClassesAreBalanced(Statement):
    """No class makes up nearly all samples.

    Why it matters:
        A model that always predicts the most frequent class looks good and has learned nothing.

    How it is tested:
        In a batch of at least `samples` samples with one label each, the most frequent label has a
        share of at most `share`.
    """

    order = 4
    severity = "warning"
    remedy = "weight the classes in the loss or sample them evenly; do not judge by accuracy alone"

    share: float = threshold(0.9, "Share of one class that is too large.", above=0)
    samples: int = threshold(32, "Samples needed to judge.", least=2)

    def examine(self, setup: ModelSetup) -> Result:
        targets = setup.given_targets
        output_of(setup)  # raises if the model does not run
        labels = _labels(setup, targets)
        labels = labels[labels > -100]
        if len(labels) < self.samples:
            raise Inapplicable(f"{len(labels)} samples are too few to judge")
        values, counts = torch.unique(labels, return_counts=True)
        if len(values) < 2:
            raise Inapplicable("there is only one class")
        share = counts.max().item() / len(labels)
        frequent = values[counts.argmax()].item()
        message = f"{share:.0%} of {len(labels)} samples have class {frequent:g}"
        if share > self.share:
            limit = f"(limit {self.share:.0%})"
            message = f"{message} {limit}; predicting it every time is {share:.0%} accurate"
            return self.fails(message, share=share)
        return self.holds(message, share=share)


def _labels(setup: ModelSetup, targets: Tensor) -> Tensor:
    """Return one label for each sample."""
    is_binary = ((targets == 0) | (targets == 1)).all()
    if is_binary and targets.ndim == 2 and targets.shape[1] > 1 and (targets.sum(1) == 1).all():
        return targets.argmax(1)
    if targets.numel() != len(targets) or setup.task not in ("binary", "multiclass"):
        raise Inapplicable("samples do not have one label each")
    return targets.flatten()
