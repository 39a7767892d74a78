"""What a batch shows about the task, added to what is known of it."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from sickbay import tasks
from sickbay.probe.seen_batch import Pair, Seen
from sickbay.vitals import Setup

SAMPLE = 64  # samples of a batch from which the task is inferred


def shown(seen: Seen, pairs: Sequence[Pair]) -> Setup:
    """Return what one batch shows of its loss, its outputs and its targets."""
    traced = seen.traced
    pair = pairs[-1] if len({(each.loss, each.output) for each in pairs}) == 1 else None
    loss, bare = traced.loss, traced.bare
    output = traced.output if loss else seen.activation
    stretched = traced.stretched or seen.stretched
    shapes = (seen.shape, ()) if pair is None else pair.shapes
    if pair is not None:
        # A divergence leaves no trace but its log-softmax, as a cross-entropy of shares does.
        loss = pair.loss if pair.loss == "kl_div" else loss or pair.loss
        output = output or pair.output
        stretched |= loss in tasks.BROADCAST and shapes[0] != shapes[1]
        same = pair.value is not None and seen.loss is not None and not seen.loss.ndim
        bare |= same and bool(torch.isclose(pair.value, seen.loss))  # type: ignore[arg-type]
    some = None if pair is None else pair.some_targets(SAMPLE)
    return Setup(
        loss=loss,
        output=output,
        task=tasks.infer(shapes[0], some, loss=loss, tokens=seen.tokens is not None),
        output_shape=shapes[0],
        target_shape=shapes[1],
        stretched=stretched,
        bare=bare,
        summed=traced.summed,
        labels=0 if some is None else tasks.labels(some),
    )


def is_of_another_loss(known: Setup, new: Setup) -> bool:
    """Return whether a batch belongs to another loss, as where heads are trained in turn.

    >>> is_of_another_loss(Setup(loss="cross_entropy"), Setup(loss="mse"))
    True
    """
    return bool(known.loss and new.loss) and known.loss != new.loss


def joined(known: Setup, new: Setup, seen: Seen) -> Setup:
    """Return what is known after a batch has shown something new."""
    corrected = new.task in ("multilabel", "regression")  # one batch may look like a simpler task
    return replace(
        known,
        loss=known.loss or new.loss,
        output=known.output or new.output,
        task=new.task if corrected else known.task or new.task,
        output_shape=known.output_shape or new.output_shape,
        target_shape=known.target_shape or new.target_shape,
        stretched=known.stretched or new.stretched,
        bare=known.bare or new.bare,
        summed=known.summed or new.summed,
        strays=known.strays or seen.strays,
        looks_ahead=known.looks_ahead or seen.looks_ahead,
        passed_on=known.passed_on or seen.passed_on,
        linear=known.linear or seen.linear,
        viewed_apart=known.viewed_apart or seen.viewed_apart,
        squeezed=known.squeezed or seen.squeezed,
        mixes_samples=known.mixes_samples or seen.over_samples,
        over_positions=known.over_positions or seen.over_positions,
        averages_errors=known.averages_errors or seen.averages_errors,
        labels=max(known.labels, new.labels),
    )
