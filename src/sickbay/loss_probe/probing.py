"""Find out what a loss does, by a few calls with made-up outputs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from sickbay.loss_probe.answers import Answers, answers_to
from sickbay.loss_probe.calls import Called, Calls, same
from sickbay.loss_probe.known_losses import name_and_sign
from sickbay.loss_probe.reaching import reach
from sickbay.vitals import Setup

FEW = 4  # samples needed to tell whether it matters whose target is whose
LOGS = ("log_softmax", "log_sigmoid", "log")
SHARES = ("softmax", "sigmoid")
CERTAIN = 1e-3  # doubt of certain answers
LOGIT = 5.0  # of certain answers
OVERFLOW = 200.0  # a logit whose sigmoid is exactly 0 or 1, and whose exponential is infinite


def probe_loss(loss: Callable[..., Any], outputs: Any, targets: Tensor, output: str = "") -> Setup:
    """Return what a loss does with a batch; nothing if it is of a kind that cannot be judged.

    Args:
        loss: A function of outputs and targets. It is called about 30 times.
        outputs: A model's outputs for the batch.
        targets: The targets of the batch.
        output: The last activation of the model, "linear" if the last step is a linear layer, ""
            if it is not known.

    >>> y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    >>> probe_loss(lambda p, y: (y * p.log()).mean(), torch.rand(4, 1), y, "sigmoid").wrong_sign
    True
    """
    if not isinstance(outputs, Tensor) or not outputs.is_floating_point():
        return Setup()
    outputs, targets = outputs.detach(), targets.detach()
    if outputs.dtype in (torch.float16, torch.bfloat16):  # too coarse to compare values
        outputs = outputs.float()
    calls = Calls(loss, targets)
    first, again = calls(outputs), calls(outputs)
    repeats = same(first, again) or (first.ran and first.value != first.value)
    answers = answers_to(outputs, targets) if repeats else None
    if answers is None:
        return Setup()
    probed = _Probe(calls, answers, output)
    if probed.is_flat(first):
        return Setup(ignores_outputs=True)
    pairs = probed.sees_pairs()
    if pairs is False:
        return probed.without_pairs(outputs) if probed.sees_targets() else Setup()
    found = Setup(unstretched=pairs is True)
    if not probed.sees_targets() or probed.goes_by_directions():
        return found
    return probed.facts(found)


def mixes_samples(outputs: Any, output: str) -> bool:
    """Return whether the softmax of some outputs runs over the samples.

    >>> mixes_samples(torch.rand(4, 3).softmax(0), "softmax")
    True
    """
    if output not in ("softmax", "log_softmax") or not isinstance(outputs, Tensor):
        return False
    if outputs.ndim < 2 or len(outputs) < 2:
        return False
    shares = outputs.detach().exp() if output == "log_softmax" else outputs.detach()
    over = [torch.allclose(each, torch.ones_like(each), atol=1e-3) for each in _sums(shares)]
    return over[0] and not any(over[1:])


def _are_stretched(outputs: tuple[int, ...], targets: tuple[int, ...]) -> bool:
    """Return whether both are broadcast to a shape that neither of them has.

    >>> _are_stretched((8, 1), (8,)), _are_stretched((8, 1), (8, 1)), _are_stretched((8, 3), (8,))
    (True, False, False)
    """
    try:
        common = np.broadcast_shapes(outputs, targets)
    except ValueError:
        return False
    return common not in (outputs, targets)


def _sums(shares: Tensor) -> list[Tensor]:
    return [shares.sum(dimension) for dimension in range(shares.ndim)]


@dataclass(frozen=True)
class _Probe:
    """A loss, answers to a batch, and the last activation of the model."""

    calls: Calls
    answers: Answers
    output: str

    def random(self, seed: int) -> Tensor:
        """Return random outputs as the model could make them."""
        return self.answers.through(self.output, self.answers.random(seed))

    def is_flat(self, first: Called) -> bool:
        """Return whether the loss gives no outputs a gradient."""
        tried = [first, *(self.calls(self.random(seed)) for seed in (3, 4))]
        tried += [self.calls(self.answers.shares(self.answers.wrong, 0.2))]
        ran = [each for each in tried if each.ran]
        return len(ran) > 1 and all(each.flat for each in ran)

    def sees_targets(self) -> bool:
        """Return whether the meaning of the targets matters, and not only which are alike."""
        point = self.random(3)
        before, after = self.calls(point), self.calls(point, self.answers.other_targets)
        if not before.finite or not after.ran:  # try what every loss takes
            point = self.answers.shares(self.answers.random(3).sigmoid(), 0.2)
            before, after = self.calls(point), self.calls(point, self.answers.other_targets)
        return before.ran and after.ran and not same(before, after)

    def goes_by_directions(self) -> bool:
        """Return whether the scale of all outputs changes nothing, as in a cosine."""
        if self.answers.kind == "values" or self.output in (*SHARES, *LOGS):
            return False
        point = self.random(5)
        return same(self.calls(point), self.calls(point * 2))

    def sees_pairs(self) -> bool | None:
        """Return whether it matters which target belongs to which sample, None if it is unknown."""
        targets = self.calls.targets
        if targets.ndim < 1 or len(targets) < FEW:
            return None
        order = torch.randperm(len(targets), generator=Generator().manual_seed(1))
        moved = targets[order.to(targets.device)]
        point = self.random(6)
        before, after = self.calls(point), self.calls(point, moved)
        if torch.equal(moved, targets) or not (before.finite and after.finite):
            return None
        return not same(before, after)

    def without_pairs(self, outputs: Tensor) -> Setup:
        """Return why pairs do not matter: shapes are broadcast, or averages compared.

        If it is neither, the loss compares distributions.
        """
        targets = self.calls.targets
        shapes = tuple(outputs.shape), tuple(targets.shape)
        if _are_stretched(*shapes):
            return Setup(stretched=True)
        gradient = self.calls(self.random(6)).gradient
        if gradient is None or not torch.allclose(gradient, gradient[:1].expand_as(gradient)):
            return Setup()
        return Setup(ignores_pairs=True)

    def facts(self, known: Setup) -> Setup:
        """Return what the loss does with right and wrong answers."""
        answers = self.answers
        name, sign = name_and_sign(self.calls, answers)
        found = replace(known, loss=name, unbounded=self._unbounded())
        if answers.kind == "values":
            return replace(found, wrong_sign=sign < 0 or self._prefers_wrong())
        inside = name == "nll" and self.output in SHARES  # 1 - p is a loss of its own
        return replace(
            found,
            loss="" if inside else name,
            wrong_sign=self._reversed(sign, found.unbounded),
            takes_log=self._takes_log(),
            takes_probabilities=self._takes_probabilities(),
            mixes_classes=self._mixes_classes(),
            reach=reach(self.calls, answers, self.output),
        )

    def _forms(self, hot: Tensor) -> Tensor:
        """Return answers as the model could make them."""
        answers = self.answers
        if answers.kind == "values":
            return hot
        if self.output in SHARES:
            return answers.shares(hot, CERTAIN)
        if self.output in LOGS:
            return answers.shares(hot, CERTAIN).log()
        return (2 * hot - 1) * (0.999 if self.output == "tanh" else LOGIT)

    def _prefers_wrong(self) -> bool:
        hot = (self.answers.right, self.answers.wrong)
        right, wrong = (self.calls(self._forms(each)) for each in hot)
        both = right.finite and wrong.finite
        return both and wrong.value < right.value and not same(right, wrong)

    def _reversed(self, sign: float, unbounded: bool) -> bool:
        """Return whether the loss wants wrong answers.

        Outputs that are no probabilities may be distances, which are small where the answer is yes.
        """
        if not self.output or not self._prefers_wrong():
            return False
        if self.answers.kind == "classes" or self.output in (*SHARES, *LOGS):
            return True
        farther = [(2 * self.answers.wrong - 1) * size for size in (1, 10, 100)]
        return sign < 0 or unbounded or self._falls(farther)

    def _unbounded(self) -> bool:
        """Return whether the loss falls without end, for outputs that are not bounded."""
        if self.output != "linear":
            return False
        right = self.answers.right
        if self.answers.kind != "values":
            return self._falls([(2 * right - 1) * k for k in (1, 10, 100)])
        size = float(right.std())
        steps = [[right + way * k * size for k in (1, 10, 100)] for way in (1, -1)]
        return any(map(self._falls, steps))

    def _falls(self, steps: list[Tensor]) -> bool:
        """Return whether the loss falls at the same pace over ever longer steps."""
        near, far, farther = (self.calls(each).value for each in steps)
        return 0 < 5 * (near - far) < far - farther < float("inf")

    def _takes_log(self) -> bool:
        """Return whether certain answers are not finite, while almost certain ones are."""
        hot = (self.answers.right, self.answers.wrong)
        if self.output in SHARES:
            certain = [self.answers.shares(each, 0.0) for each in hot]
        elif self.output == "linear":
            certain = [(2 * each - 1) * OVERFLOW for each in hot]
        else:
            return False
        almost = all(self.calls(self._forms(each)).finite for each in hot)
        return almost and not all(self.calls(each).finite for each in certain)

    def _takes_probabilities(self) -> bool:
        """Return whether outputs outside of 0 to 1 are not finite, or get no gradient."""
        if self.output != "linear":
            return False
        hot = (self.answers.right, self.answers.wrong)
        right, wrong = (self.calls(self.answers.shares(each, 0.2)) for each in hot)
        if not (right.finite and wrong.finite) or right.flat or not right.value < wrong.value:
            return False
        outside = [each for each in (self.calls((2 * one - 1) * 3) for one in hot) if each.ran]
        flat = len(outside) == 2 and all(each.flat for each in outside)
        return flat or any(not each.finite for each in outside)

    def _mixes_classes(self) -> bool:
        """Return whether a number added to an output of all samples changes nothing."""
        answers = self.answers
        if answers.kind != "classes" or self.output not in ("linear", ""):
            return False
        point = answers.random(7)
        for_all, for_each = answers.random(8)[:1], answers.random(8).select(answers.dimension, 0)
        rows = for_each.unsqueeze(answers.dimension)
        before, after = self.calls(point), self.calls(point + for_all)
        return same(before, after) and not same(before, self.calls(point + rows))
