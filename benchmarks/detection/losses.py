"""Losses, right and wrong ones, with their targets and the meaning of their outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.detection.data_sets import Data

Compare = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Objective:
    """A loss with its output width, its targets, and the meaning of outputs.

    Attributes:
        function: The loss as a function.
        module: The same as a module.
        target: Converts labels to the targets of the loss.
        guess: Converts outputs to labels or values for scoring.
        single: Whether one output serves all classes.
    """

    function: Compare
    module: Callable[[], nn.Module]
    target: Callable[[Tensor, int], Tensor]
    guess: Callable[[Tensor, int], Tensor]
    single: bool = False

    def width(self, data: Data) -> int:
        return 1 if self.single else data.size


def same(y: Tensor, _size: int) -> Tensor:
    return y


def flat(y: Tensor, _size: int) -> Tensor:
    return y.flatten()


def onehot(y: Tensor, size: int) -> Tensor:
    return F.one_hot(y, size).float()


def column(y: Tensor, _size: int) -> Tensor:
    return y.float().unsqueeze(1)


def thousands(y: Tensor, _size: int) -> Tensor:
    return y * 1000


def thousandths(y: Tensor, _size: int) -> Tensor:
    return y / 1000


def signs(y: Tensor, _size: int) -> Tensor:
    return 2 * y.float().unsqueeze(1) - 1


def onehot_signs(y: Tensor, size: int) -> Tensor:
    return 2 * onehot(y, size) - 1


def hundreds(y: Tensor, _size: int) -> Tensor:
    return y * 100


def bare(y: Tensor, _size: int) -> Tensor:
    """Drop dimension 1, which the outputs keep."""
    return y.squeeze(1)


def none_of_it(y: Tensor, _size: int) -> Tensor:
    """Treat values as class numbers."""
    return torch.zeros(len(y), dtype=torch.long)


def counts(y: Tensor, _size: int) -> Tensor:
    """Convert standardised values to counts."""
    return torch.exp(0.7 * y + 1).round()


def best(out: Tensor, _size: int) -> Tensor:
    return out.argmax(-1)


def above_zero(out: Tensor, _size: int) -> Tensor:
    return (out.squeeze(-1) > 0).long()


def above_half(out: Tensor, _size: int) -> Tensor:
    return (out.squeeze(-1) > 0.5).long()


def nearest(out: Tensor, size: int) -> Tensor:
    return out.squeeze(-1).round().clamp(0, size - 1).long()


def positive(out: Tensor, _size: int) -> Tensor:
    return (out > 0).float()


def off_log(out: Tensor, _size: int) -> Tensor:
    return (out - 1) / 0.7


def from_thousands(out: Tensor, _size: int) -> Tensor:
    return out / 1000


def from_hundreds(out: Tensor, _size: int) -> Tensor:
    return out / 100


def from_thousandths(out: Tensor, _size: int) -> Tensor:
    return out * 1000


def hinge(out: Tensor, target: Tensor) -> Tensor:
    return F.relu(1 - target * out).mean()


class Hinge(nn.Module):
    def forward(self, out: Tensor, target: Tensor) -> Tensor:
        return hinge(out, target)


def smooth(out: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(out, target, label_smoothing=0.1)


def divergence(out: Tensor, target: Tensor) -> Tensor:
    return F.kl_div(out, target, reduction="batchmean")


OBJECTIVES: dict[str, Objective] = {
    "ce": Objective(F.cross_entropy, nn.CrossEntropyLoss, flat, best),
    "ce_smooth": Objective(smooth, lambda: nn.CrossEntropyLoss(label_smoothing=0.1), same, best),
    "ce_onehot": Objective(F.cross_entropy, nn.CrossEntropyLoss, onehot, best),
    "nll": Objective(F.nll_loss, nn.NLLLoss, flat, best),
    "bce": Objective(
        F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss, column, above_zero, single=True
    ),
    "bce_probability": Objective(
        F.binary_cross_entropy, nn.BCELoss, column, above_half, single=True
    ),
    "bce_onehot": Objective(F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss, onehot, best),
    "bce_labels": Objective(
        F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss, same, positive
    ),
    "mse": Objective(F.mse_loss, nn.MSELoss, same, same),
    "l1": Objective(F.l1_loss, nn.L1Loss, same, same),
    "huber": Objective(F.huber_loss, nn.HuberLoss, same, same),
    "smooth_l1": Objective(F.smooth_l1_loss, nn.SmoothL1Loss, same, same),
    "mse_thousands": Objective(F.mse_loss, nn.MSELoss, thousands, from_thousands),
    "huber_thousands": Objective(F.huber_loss, nn.HuberLoss, thousands, from_thousands),
    "l1_thousandths": Objective(F.l1_loss, nn.L1Loss, thousandths, from_thousandths),
    "mse_onehot": Objective(F.mse_loss, nn.MSELoss, onehot, best),
    "poisson": Objective(F.poisson_nll_loss, nn.PoissonNLLLoss, counts, off_log),
    "hinge": Objective(hinge, Hinge, signs, above_zero, single=True),
    "margin": Objective(F.multi_margin_loss, nn.MultiMarginLoss, same, best),
    "mse_hundreds": Objective(F.mse_loss, nn.MSELoss, hundreds, from_hundreds),
    "mse_signs": Objective(F.mse_loss, nn.MSELoss, signs, above_zero, single=True),
    # The following losses are wrong for their data.
    "mse_index": Objective(F.mse_loss, nn.MSELoss, column, nearest, single=True),
    "l1_index": Objective(F.l1_loss, nn.L1Loss, column, nearest, single=True),
    "l1_onehot": Objective(F.l1_loss, nn.L1Loss, onehot, best),
    "ce_single": Objective(F.cross_entropy, nn.CrossEntropyLoss, column, above_zero, single=True),
    "ce_values": Objective(F.cross_entropy, nn.CrossEntropyLoss, same, same),
    "bce_signs": Objective(
        F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss, signs, above_zero, single=True
    ),
    "bce_values": Objective(F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss, same, same),
    "divergence": Objective(divergence, lambda: nn.KLDivLoss(reduction="batchmean"), onehot, best),
    "poisson_index": Objective(F.poisson_nll_loss, nn.PoissonNLLLoss, column, nearest, single=True),
    "poisson_values": Objective(F.poisson_nll_loss, nn.PoissonNLLLoss, same, same),
    "nll_values": Objective(F.nll_loss, nn.NLLLoss, none_of_it, same),
    "mse_spread": Objective(F.mse_loss, nn.MSELoss, bare, same),
    "l1_spread": Objective(F.l1_loss, nn.L1Loss, bare, same),
    "smooth_l1_spread": Objective(F.smooth_l1_loss, nn.SmoothL1Loss, bare, same),
    "hinge_index": Objective(hinge, Hinge, column, above_half, single=True),
    "hinge_onehot": Objective(hinge, Hinge, onehot, best),
    "hinge_values": Objective(hinge, Hinge, same, same),
}
