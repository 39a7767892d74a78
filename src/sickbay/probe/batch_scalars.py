"""Scalars of a batch: how its samples differ, how the loss pulls, how good the answers are."""

from collections.abc import Sequence
from math import isnan, prod

from torch import Tensor, nn

from sickbay.probe.answers import Answers
from sickbay.probe.cut_off import share_cut_off
from sickbay.probe.leaks import MOSTLY, Leaks, next_values, repeated
from sickbay.probe.missing_codes import MissingCodes
from sickbay.probe.seen_batch import Pair, Seen
from sickbay.probe.spread import is_dense, spread
from sickbay.probe.trials import Trials
from sickbay.vitals import Setup

SURE = ("sure_errors", "sure_distance")
FEW = 4  # samples needed to compare their gradients


class BatchScalars:
    """Measures what was seen of a batch, beside what earlier batches have shown."""

    def __init__(self, model: nn.Module, trials: Trials) -> None:
        self._answers, self._leaks, self._codes = Answers(), Leaks(model), MissingCodes()
        self._trials = trials

    def of(self, seen: Seen, pairs: Sequence[Pair], facts: Setup) -> dict[str, float]:
        """Return the scalars of a batch, as far as they are known."""
        outputs = pairs[-1].outputs if pairs else seen.output
        inputs = seen.inputs if is_dense(seen.inputs) else None
        # Where one of several inputs is constant, the others may tell the samples apart.
        spreads = {"output_spread": outputs, "input_spread": inputs if seen.alone else None}
        found = {name: spread(each) for name, each in spreads.items() if each is not None}
        found |= {**seen.heard, **of_gradient(seen)}
        if inputs is not None:
            found |= self._codes.scalars(inputs)
        # A loss without a name may compare something else than outputs and targets.
        if len(pairs) == 1 and (pairs[0].loss or pairs[0].value is None):
            found |= self._answered(seen, pairs[0], facts)
            if seen.several:  # another term may be why the model contradicts its labels
                found = {name: value for name, value in found.items() if name not in SURE}
            found |= self._leaked(seen, inputs, pairs[0].targets, facts)
        return {name: value for name, value in found.items() if not isnan(value)}

    def _answered(self, seen: Seen, pair: Pair, facts: Setup) -> dict[str, float]:
        gradient = seen.gradient
        if gradient is not None and gradient.numel() == pair.outputs.numel():
            gradient = gradient.reshape(pair.outputs.shape)
        loss = pair.loss or facts.loss
        return self._answers.scalars(facts.task, pair.outputs, pair.targets, gradient, loss)

    def _leaked(
        self, seen: Seen, inputs: Tensor | None, targets: Tensor, facts: Setup
    ) -> dict[str, float]:
        ahead = facts.looks_ahead
        if seen.tokens is not None:
            asked = any(repeated(seen.tokens, targets, each) > MOSTLY for each in (0, 1))
            self._trials.places = int(asked)
            return self._leaks.of_tokens(seen.tokens, targets, sees_ahead=ahead, alone=seen.alone)
        if inputs is None or facts.task != "regression":
            return {}
        self._trials.places = next_values(inputs, targets)
        return self._leaks.of_numbers(inputs, targets, sees_ahead=ahead)


def of_gradient(seen: Seen) -> dict[str, float]:
    """Return the scalars of the gradient of the outputs, none if it has too few samples."""
    gradient = seen.gradient
    if gradient is None or not gradient.ndim or not len(gradient) == seen.shape[0] >= FEW:
        return {}
    found = {"pull_spread": spread(gradient)}
    if gradient.ndim == 2:
        found["pull_spread_within"] = spread(gradient.T)
    found["pull_size"] = float(gradient.abs().float().mean()) * prod(seen.shape)
    if seen.output is not None and seen.output.shape == gradient.shape:
        found["cut_off"] = share_cut_off(seen.output, gradient)
    return found
