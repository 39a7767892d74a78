from dataclasses import dataclass

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.loss_levels import answered
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class ClassesAreBalanced(Statement):
    """No class makes up nearly all of the samples.

    Why it matters:
        A model that always guesses the frequent class looks good and has learnt nothing.

    How it is tested:
        In a batch of `samples` at least, with one label each, the most frequent one has a share of
        at most `share`.
    """

    severity = "warning"
    remedy = "weight the classes in the loss or sample them evenly, and judge by more than accuracy"

    share: float = threshold(0.9, "Share of one class that is too large.", above=0)
    samples: int = threshold(32, "Samples that are needed to tell.", least=2)

    def examine(self, case: Case) -> Result:
        targets = case.given_batch.targets
        if targets is None:
            raise Inapplicable("no targets were given")
        answered(case)
        one_hot = targets.ndim == 2 and targets.shape[1] > 1 and _one_hot(targets)
        if not one_hot and (
            targets.numel() != len(targets) or case.task not in ("binary", "multiclass")
        ):
            raise Inapplicable("the samples have no label each")
        labels = targets.argmax(1) if one_hot else targets.flatten()
        labels = labels[labels > -100]
        if len(labels) < self.samples:
            raise Inapplicable(f"{len(labels)} samples are too few to tell")
        values, counts = torch.unique(labels, return_counts=True)
        share = counts.max().item() / len(labels)
        if len(values) < 2:
            raise Inapplicable("there is one class only")
        most = values[counts.argmax()].item()
        said = f"{share:.0%} of {len(labels)} samples are of class {most:g}"
        if share > self.share:
            guess = f"always guessing it is right in {share:.0%}"
            return self.fails(f"{said} (limit {self.share:.0%}): {guess}", share=share)
        return self.holds(said, share=share)


def _one_hot(targets: Tensor) -> bool:
    return bool(((targets == 0) | (targets == 1)).all() and (targets.sum(1) == 1).all())
