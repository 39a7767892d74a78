"""Quick references: the simple model that suits some inputs and answers, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import TypeAlias

import torch
from torch import Tensor, nn

from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.data import Data
from sickbay.repairs.yardsticks.answers import Answers, Inputs
from sickbay.repairs.yardsticks.codes import code_width, coder, components
from sickbay.repairs.yardsticks.features import Features
from sickbay.repairs.yardsticks.positions import per_position
from sickbay.repairs.yardsticks.simple_models import (
    Kind,
    best,
    neighbours,
    network,
    quality,
    ridge,
    within,
)
from sickbay.repairs.yardsticks.soundness import sees_ahead

FEWEST = 20  # samples of which a fifth is kept to choose a reference
MOST_PAIRS = 10_000_000  # of a word and what follows
WIDEST = 256  # outputs of a reference
JUDGED, FEWEST_JUDGED = 4000, 8  # positions, and samples, that one for positions is chosen by
FEW_COMPONENTS = 4  # of an autoencoder whose code is not seen
Shares: TypeAlias = Callable[[Sequence[Tensor]], Tensor]  # of classes, a row for each position
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)
WORSE, ERRORS = 0.1, 3.0  # accuracy and standard errors that wrong labels cost at least


@dataclass(frozen=True)
class Reference:
    """A quick reference.

    Attributes:
        answer: Answers for inputs, in the shape of the outputs of a model.
        judged: Training samples that were kept from it.
        quality: Its accuracy on them, None if answers are no classes.
        constant: The accuracy of a constant answer to them.
        exact: Whether it is an exact optimum.
    """

    answer: Callable[..., Tensor]
    judged: int = 0
    quality: float | None = None
    constant: float = 0.0
    exact: bool = False


def reference_for(
    model: nn.Module,
    data: Data,
    inputs: Inputs,
    targets: Tensor,
    answers: Answers,
    right: Tensor,
    good: Tensor,
    balanced: bool = False,
) -> Reference | None:
    """Return a quick reference for these inputs and answers, None if there is none of this kind.

    If it is to be `balanced`, rare classes count as much as frequent ones.
    """
    if answers.dense:
        return of_positions(model, inputs, answers, right, good)
    if answers.rows > 1 or len(good) != len(targets):
        return None
    alike = next((at for at, each in enumerate(inputs) if is_alike(each, targets)), None)
    if alike is not None and answers.kind != "classes" and inputs[alike].is_floating_point():
        same = are_same(inputs[alike], targets)
        wide = answers.width > WIDEST and answers.kind == "values"
        if same or wide or squeezes(model, inputs, answers.width):
            return autoencoder(model, inputs, alike, answers, right, good)
    if answers.width > WIDEST:
        several = answers.kind == "answers" and bool(good.all())
        return of_pixels(inputs, answers, right) if several else None
    return of_features(model, data, inputs, answers, right, good, balanced)


def of_features(
    model: nn.Module,
    data: Data,
    inputs: Inputs,
    answers: Answers,
    right: Tensor,
    good: Tensor,
    balanced: bool,
) -> Reference | None:
    """Answer for each sample as a whole, with the simple model that is best on samples kept."""
    named = any(isinstance(each, EMBEDDINGS) for each in model.modules())
    order = torch.randperm(len(right))  # samples may come sorted by class
    rows = tuple(each.cpu()[good][order] for each in inputs)
    features, right = Features(rows, named), answers.hot(right[order])
    mean, scale = right.mean(0), right.std(0, correction=0)
    scale = scale.where(scale > 0, 1.0)
    if answers.kind == "values":
        right = (right - mean) / scale
    judged = len(right) // 5 if len(right) >= FEWEST else 0
    if not judged and data.held_out:
        return None
    fits = (ridge, neighbours, network) if data.held_out else (ridge, network)
    model_answers, reached = best(features(rows), right, answers.kind, fits, judged)

    def answer(*given: Tensor) -> Tensor:
        found = model_answers(features(given))
        found = found * scale + mean if answers.kind == "values" else found
        found = evened(found, mean, answers.kind) if balanced else found
        return answers.outputs(found, len(given[0]))

    if answers.kind == "values" or not data.held_out:
        return Reference(answer)
    kept = right[len(right) - judged :]
    constant = quality(kept.mean(0).expand_as(kept), kept, answers.kind)
    return Reference(answer, judged, reached, constant)


def is_alike(inputs: Tensor, targets: Tensor) -> bool:
    """Return whether targets look like inputs, or are the same in another shape.

    >>> images = torch.rand(9, 1, 2, 2)
    >>> is_alike(images, images.flatten(1)), is_alike(images, torch.rand(9, 4))
    (True, False)
    """
    return inputs.shape == targets.shape or are_same(inputs, targets)


def are_same(inputs: Tensor, targets: Tensor) -> bool:
    """Return whether targets are the inputs, in whatever shape."""
    if inputs.numel() != targets.numel() or len(inputs) != len(targets):
        return False
    return bool((inputs.reshape(targets.shape) == targets).all())


def squeezes(model: nn.Module, inputs: Inputs, width: int) -> bool:
    """Return whether a model passes its inputs through half as many numbers or less."""
    code = code_width(model, inputs)
    return code is not None and 2 * code <= width


def autoencoder(
    model: nn.Module, inputs: Inputs, alike: int, answers: Answers, right: Tensor, good: Tensor
) -> Reference:
    """Answer with a code of the input that is like the targets: the better one on samples kept."""
    width = code_width(model, inputs) or FEW_COMPONENTS
    rows, right = _numbers(inputs[alike].cpu()[good]), answers.hot(right).float()
    kept = len(rows) - len(rows) // 5
    found = [
        fit(rows[:kept], right[:kept], width) for fit in (components, coder) if kept >= FEWEST
    ] or [components(rows, right, width)]
    losses = [float((each(rows[kept:]) - right[kept:]).square().mean()) for each in found]
    chosen = found[losses.index(min(losses))]

    def answer(*given: Tensor) -> Tensor:
        shares = within(chosen(_numbers(given[alike].cpu())), answers.kind)
        return answers.outputs(shares, len(given[alike]))

    return Reference(answer, exact=chosen is found[0])


def _numbers(values: Tensor) -> Tensor:
    return values.flatten(1).nan_to_num(0.0, 0.0, 0.0).float()


def evened(shares: Tensor, mean: Tensor, kind: Kind) -> Tensor:
    """Return shares as if all classes, or a yes and a no, were equally frequent.

    >>> import torch
    >>> evened(torch.tensor([[0.2], [0.05]]), torch.tensor([0.1]), "answers").round(decimals=2)
    tensor([[0.6900],
            [0.3200]])
    """
    if kind == "values":
        return shares
    shares, mean = shares.clamp(min=0), mean.clamp(1e-6, 1 - 1e-6)
    yes, no = shares / mean, (1 - shares).clamp(min=0) / (1 - mean)
    return yes / (yes + no) if kind == "answers" else yes / yes.sum(1, keepdim=True).clamp(min=1e-9)


def of_positions(
    model: nn.Module, inputs: Inputs, answers: Answers, right: Tensor, good: Tensor
) -> Reference | None:
    """Answer at each position with what usually follows its token, or is there in like places.

    A fifth of the samples is kept to choose, and not used afterwards.
    """
    count = len(inputs[0])
    labels = torch.full((len(good),), -1)
    labels[good] = right
    labels = labels.reshape(count, -1)
    kept = count - max(1, count // 5)
    if not kept:
        return None
    some = tuple(each[:kept].cpu() for each in inputs)
    here = labels[:kept].flatten()
    ahead = sees_ahead(model, inputs)
    shares = [
        bigrams(some[0], answers, here[here >= 0], here >= 0),
        per_position(some, labels[:kept], answers.width, ahead),
    ]
    judged = slice(kept, kept + max(FEWEST_JUDGED, JUDGED // labels.shape[1]))
    others, wanted = [each[judged].cpu() for each in inputs], labels[judged].flatten()
    asked = wanted >= 0
    chosen = max(
        (each for each in shares if each is not None),
        key=lambda each: int((each(others).argmax(1) == wanted)[asked].sum()),
        default=None,
    )
    if chosen is None:
        return None

    def answer(*given: Tensor) -> Tensor:
        return answers.outputs(chosen([each.cpu() for each in given]), len(given[0]))

    return Reference(answer)


def of_pixels(inputs: Inputs, answers: Answers, right: Tensor) -> Reference | None:
    """Answer yes or no for each pixel with what is usual where it looks so around it."""
    rows = tuple(each.cpu() for each in inputs)
    shares = per_position(rows, (right > 0.5).long(), 2, [True] * len(inputs))
    if shares is None:
        return None

    def answer(*given: Tensor) -> Tensor:
        yes = shares([each.cpu() for each in given])[:, 1]
        return answers.outputs(yes.reshape(len(given[0]), -1), len(given[0]))

    return Reference(answer)


def bigrams(tokens: Tensor, answers: Answers, right: Tensor, good: Tensor) -> Shares | None:
    """Answer with what usually follows each token, None if positions are no tokens."""
    if tokens.is_floating_point() or tokens.ndim != 2 or tokens.numel() != len(good):
        return None
    words = int(tokens.max()) + 1
    if words * answers.width > MOST_PAIRS:
        return None
    pairs = tokens.flatten()[good].long() * answers.width + right
    counts = pairs.bincount(minlength=words * answers.width).reshape(words, -1).float()
    counts += answers.mean(right)  # as if each word had been seen once
    shares = counts / counts.sum(1, keepdim=True)

    return lambda given: shares[given[0].flatten().clamp(0, words - 1)]


def wrong_labels(held: Yardstick, reference: Reference) -> float | None:
    """Return the accuracy of a reference on training data, if it shows that labels are wrong.

    Samples that it has not seen are as easy to answer whether they are for training or for
    validation, unless labels were spoilt in one of the two. The share of classes may differ, so
    the way from a constant answer to a perfect one counts as well.

    >>> held = Yardstick(constant=0.1, reference=0.85, metric="val_accuracy", samples=500)
    >>> wrong_labels(held, Reference(lambda x: x, 400, quality=0.6, constant=0.1))
    0.6
    """
    found, score, least = reference.quality, held.reference, held.constant
    if found is None or score is None or least is None or held.metric != "val_accuracy":
        return None
    chances = ((found, reference.judged), (score, held.samples))
    chance = hypot(*(sqrt(share * (1 - share) / max(1, count)) for share, count in chances))
    ways = [(a - b) / max(1 - b, 1e-9) for a, b in ((score, least), (found, reference.constant))]
    worse = score - found > max(WORSE, ERRORS * chance) and ways[0] - ways[1] > WORSE
    return found if worse else None
