"""Measure the yardsticks of a recipe on the data of a repair.

The work is bounded by the number of samples and features rather than by the clock, so that a
resumed repair measures the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from sickbay.isolated_random import IsolatedRandom, evaluating
from sickbay.loss_probe import harmless
from sickbay.printable import error_message
from sickbay.problems.shared.yardsticks import Yardstick, metric_in
from sickbay.recipe import Loss, Recipe
from sickbay.remedies.scaled_loss import is_least_at
from sickbay.repairs.data import Data
from sickbay.repairs.metrics import BALANCED, Metric
from sickbay.repairs.scoring import IGNORED, evaluate, key
from sickbay.repairs.yardsticks.answers import Answering, Answers, Inputs, fitted, name_of
from sickbay.repairs.yardsticks.references import reference_for, wrong_labels
from sickbay.repairs.yardsticks.soundness import unsound

SAMPLES = 4000  # to learn from
VALUES = 4_000_000  # in their inputs and outputs
TRIED = 16  # samples on which a loss must be a distance
UNKNOWN = 100  # held-out samples, if a loader does not say


class Yardsticks:
    """Measures what constant answers and quick references reach, once for each kind of output.

    A failure means that there is none. `say` is told why, once.
    """

    def __init__(
        self, data: Data | None, metric: Metric | None = None, say: Callable[[str], None] = print
    ) -> None:
        self._data, self._metric, self._say = data, metric, say
        self._samples: dict[int, tuple[Inputs, Tensor]] = {}
        self._measured: dict[object, tuple[Yardstick, Loss]] = {}
        self._said: set[str] = set()

    def of(self, recipe: Recipe) -> Yardstick:
        """Return the yardstick for the outputs of a recipe's model and its loss."""
        if self._data is None:
            return Yardstick()
        with IsolatedRandom(0), torch.no_grad():
            try:
                found = self._of(recipe, self._data)
                inputs, targets = self._samples[max(self._samples)]
                return replace(found, unsound=unsound(recipe.model, inputs, targets))
            except Exception as error:  # a model, loss or data of a kind that nobody foresaw
                return self._without(f"no constant answer: {error_message(error)}")

    def _of(self, recipe: Recipe, data: Data) -> Yardstick:
        few, known = self._some(data, TRIED)
        with evaluating(recipe.model):
            outputs = recipe.model(*(each[:2] for each in few))
        if not isinstance(outputs, Tensor):
            return self._without("no constant answer: the outputs are not one tensor")
        count = affordable(few, outputs, len(known[:2]))
        inputs, targets = self._some(data, count)
        answers = Answers.of(inputs, outputs, targets, recipe.loss)
        if answers is None:
            return self._without("no constant answer: the targets are of an unknown kind")
        if answers.kind == "values" and not self._is_distance(recipe, few, known):
            return self._without("no constant answer: the loss is no distance to the targets")
        same = self._measured.get(answers) or self._measured.get((answers, id(recipe.loss)))
        if same is not None:
            return same[0]
        tried = replace(recipe, loss=harmless(recipe.loss))
        found = self._measure(tried, data, inputs, targets, answers)
        by_loss = found.metric in ("", "val_loss") or self._metric == "loss"
        kept = (answers, id(recipe.loss)) if by_loss else answers
        self._measured[kept] = found, recipe.loss  # a loss that is kept keeps its id
        return found

    def _some(self, data: Data, count: int) -> tuple[Inputs, Tensor]:
        if count not in self._samples:
            self._samples[count] = data.some(count)
        return self._samples[count]

    def _is_distance(self, recipe: Recipe, inputs: Inputs, targets: Tensor) -> bool:
        if name_of(recipe.loss) in ("bce", "bce_logits"):
            return True  # shares are all that it can be given
        with evaluating(recipe.model):
            return is_least_at(recipe.loss, recipe.model(*inputs), targets)

    def _measure(
        self, recipe: Recipe, data: Data, inputs: Inputs, targets: Tensor, answers: Answers
    ) -> Yardstick:
        like = torch.empty(len(targets) * answers.rows, *answers.shape, device="meta")
        known = fitted(recipe.loss, like, targets.cpu())
        if data.padding is not None and answers.kind == "classes":
            known = known.masked_fill(targets.cpu() == data.padding, IGNORED)
        right, good = answers.known(like, known)
        if not goes_by_class(recipe.loss, answers, right, good, targets):
            return self._without("no constant answer: the loss does not tell the classes apart")
        constant = partial(always, answers, answers.mean(right))
        scores = evaluate(Answering(constant), recipe.loss, data, self._metric)
        samples = (data.validation.size or UNKNOWN) if data.held_out else 0
        found = Yardstick(key(scores), None, metric_in(scores)[0], samples)
        try:
            even = self._metric == BALANCED
            found_for = inputs, targets, answers, right, good
            reference = reference_for(recipe.model, data, *found_for, balanced=even)
            if reference is None:
                self._without("no quick reference for outputs of this kind")
                return found
            reached = evaluate(Answering(reference.answer), recipe.loss, data, self._metric)
            found = replace(found, reference=key(reached), exact=reference.exact)
            return replace(found, trained=wrong_labels(found, reference))
        except Exception as error:
            self._without(f"no quick reference: {error_message(error)}")
        return found

    def _without(self, why: str) -> Yardstick:
        if why not in self._said:
            self._said.add(why)
            self._say(why)
        return Yardstick(sought=True)


def goes_by_class(
    loss: Loss, answers: Answers, right: Tensor, good: Tensor, targets: Tensor
) -> bool:
    """Return whether a loss is lower for the right classes than for the same ones renamed.

    One that only brings samples of a class together does not care, so an accuracy says nothing.
    """
    if answers.kind != "classes" or answers.dense or not bool(good.all()):
        return True
    try:
        with torch.no_grad():
            hot = answers.hot(right)
            some = harmless(loss)
            losses = [
                float(some(answers.outputs(rows, len(targets)).to(targets.device), targets))
                for rows in (hot, hot.roll(1, 1))
            ]
    except Exception:  # it needs something else; then nothing is known
        return True
    return losses[0] != losses[1]


def affordable(inputs: Inputs, outputs: Tensor, count: int) -> int:
    """Return how many samples to learn from, fewer if they or their outputs are large.

    `outputs` are those for the first `count` inputs.

    >>> affordable((torch.zeros(16, 128),), torch.zeros(2, 9_872), 2)
    400
    """
    size = sum(each[0].numel() for each in inputs) + outputs.numel() // max(1, count)
    return max(8, min(SAMPLES, VALUES // max(1, size)))


def always(answers: Answers, row: Tensor, *inputs: Tensor) -> Tensor:
    """Answer the same for any inputs."""
    return answers.constant(row, len(inputs[0]))
