"""A loss of standardised outputs and targets, and whether it means the same as before."""

from math import inf

import torch
from torch import Tensor

from sickbay.loss_probe import harmless
from sickbay.recipe import Loss
from sickbay.remedies.fit_loss_to_task import Fitted
from sickbay.remedies.loss_code import loss_code
from sickbay.surgery.scaling_outputs import Numbers, as_numbers

SAMPLES = 32  # that a loss is tried on


class ScaledLoss(Fitted):
    """A distance between outputs and targets, in standard deviations of the targets.

    >>> import torch
    >>> from torch import nn
    >>> loss = ScaledLoss(nn.L1Loss(), 100.0, 20.0)
    >>> loss(torch.tensor([[90.0]]), torch.tensor([130.0])).item()
    2.0
    >>> loss
    sickbay.remedies.ScaledLoss(nn.L1Loss(), 100, 20)
    """

    mean: Tensor
    std: Tensor

    def __init__(self, loss: Loss, mean: Numbers, std: Numbers) -> None:
        super().__init__(loss, "values")
        self.register_buffer("mean", as_numbers("mean", mean))
        self.register_buffer("std", as_numbers("std", std))

    def __repr__(self) -> str:
        scale = f"{as_code(self.mean)}, {as_code(self.std)}"
        return f"sickbay.remedies.ScaledLoss({loss_code(self.loss)}, {scale})"

    def compared(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        mean, std = self.mean.to(outputs), self.std.to(outputs)
        return (outputs - mean) / std, (self.fit(outputs, targets) - mean) / std


def as_code(numbers: Tensor) -> str:
    """Return one number or a list of them as code.

    >>> as_code(torch.tensor(2.5)), as_code(torch.tensor([1.0, 1e9]))
    ('2.5', '[1, 1e+09]')
    """
    if numbers.ndim == 0:
        return f"{float(numbers):.6g}"
    return f"[{', '.join(f'{each:.6g}' for each in numbers.flatten().tolist())}]"


def is_least_at(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss is least where the outputs are the targets, in whatever units.

    >>> from torch import nn
    >>> one, other = torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0], [1.0]])
    >>> [is_least_at(nn.PoissonNLLLoss(log_input=each), one, other) for each in (False, True)]
    [True, False]
    """
    if is_distance(loss, outputs, targets):
        return True
    known = targets[targets.reshape(len(targets), -1).isfinite().all(1)][:SAMPLES].double()
    outputs = outputs[: len(known)].detach().double()
    known = known[: len(outputs)].to(outputs.device)
    try:
        with torch.no_grad():
            fitted = Fitted(harmless(loss), "values")
            right = fitted.fit(outputs, known)
            mean, move = right.mean(), 1.0 + float(right.abs().max())
            none = float(fitted(right, known))
            tried = (right + move, right + right.std(), (right + mean) / 2, right.flip(0))
            return all(none < float(fitted(each, known)) < inf for each in tried)
    except Exception:  # it takes something else than numbers
        return False


def is_distance(loss: Loss, outputs: Tensor, targets: Tensor) -> bool:
    """Return whether a loss depends on the differences of outputs and targets, and falls with them.

    Others would mean something else in other units: a relative error, the likelihood of counts.

    >>> from torch import nn
    >>> one, other = torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0], [1.0]])
    >>> is_distance(nn.HuberLoss(), one, other), is_distance(nn.PoissonNLLLoss(), one, other)
    (True, False)
    """
    known = targets[targets.reshape(len(targets), -1).isfinite().all(1)][:SAMPLES].double()
    outputs = outputs[: len(known)].detach().double()
    if not len(known):
        return False
    known = known[: len(outputs)].to(outputs.device)
    move = 1.0 + float(known.abs().max())
    try:
        with torch.no_grad():
            fitted = Fitted(harmless(loss), "values")
            before = float(fitted(outputs, known))
            moved = float(fitted(outputs + move, known + move))
            none = float(fitted(fitted.fit(outputs, known), known))
            apart = float(fitted(fitted.fit(outputs, known) + move, known))
    except Exception:  # it takes something else than numbers
        return False
    return none < min(before, apart) and abs(before - moved) <= 1e-6 * abs(before)
