"""The score of a run, if the user chooses it: a metric by name, or a function."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from sickbay.arguments import check_any_float, check_choice, check_text, short_repr
from sickbay.errors import UsageError
from sickbay.printable import raising

Metric: TypeAlias = str | Callable[[Any, Tensor], Any]
SCORE = "val_metric"  # among the metrics of an epoch; higher is better
OF_CLASSES = ("precision", "recall", "f1")
STANDARD = {"accuracy": "val_accuracy", "r2": "val_score"}  # those that are measured anyway
BALANCED = "balanced_accuracy"  # the mean of the shares of right answers in all classes
NAMES = (*STANDARD, *OF_CLASSES, BALANCED, "loss")
NO_CLASS = -(2**31)  # stands for an output that is not finite


def check_metric(metric: Any, own_loop: bool = False) -> Metric | None:
    """Return a metric: a name or a function. A loop of the user's has its own names."""
    if metric is None:
        return None
    if own_loop:
        if isinstance(metric, str):
            return check_text("metric", metric)
        raise UsageError(
            "metric must be the name of a metric that train passes to doctor.epoch, "
            f"got {short_repr(metric)}."
        )
    if callable(metric) and not isinstance(metric, type):
        return metric  # type: ignore[no-any-return]
    if isinstance(metric, str):
        return check_choice("metric", metric, NAMES)
    raise UsageError(
        f"metric must be a function of outputs and targets, or one of {str(NAMES)[1:-1]}; "
        f"got {short_repr(metric)}."
    )


def value_of(metric: Callable[[Any, Tensor], Any], batches: Sequence[tuple[Any, Tensor]]) -> float:
    """Return what a function gives for the outputs and targets of all batches together."""
    name = getattr(metric, "__name__", type(metric).__name__)
    outputs, targets = zip(*batches, strict=True)
    with raising(
        UsageError, f"metric must be a function of outputs and targets, but {name} raised"
    ):
        value = metric(joined(outputs), joined(targets))
        value = value.item() if hasattr(value, "item") else value  # of torch or numpy
    return check_any_float(f"What the metric {name} returns", value)


def joined(parts: Sequence[Any]) -> Any:
    """Return the outputs of several batches as those of one, on the CPU.

    >>> joined([{"a": torch.zeros(2)}, {"a": torch.ones(1)}])
    {'a': tensor([0., 0., 1.])}
    """
    first = parts[0]
    if isinstance(first, Tensor):
        return torch.cat([each.cpu() for each in parts])
    if isinstance(first, dict):
        return {name: joined([each[name] for each in parts]) for name in first}
    if isinstance(first, tuple | list):
        return tuple(joined(each) for each in zip(*parts, strict=True))
    return list(parts)


def class_scores(predicted: Tensor, actual: Tensor) -> dict[str, float]:
    """Return precision, recall and F1: those of the answer yes, or the mean of all classes.

    Answers yes or no are booleans, in a column for each question. Where nothing can be divided,
    the share is 0.

    >>> class_scores(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1, 1]))["precision"]
    0.75
    >>> yes = torch.tensor([[True], [True], [False]])
    >>> class_scores(yes, torch.tensor([[True], [False], [True]]))
    {'precision': 0.5, 'recall': 0.5, 'f1': 0.5, 'balanced_accuracy': 0.25}
    """
    if predicted.dtype == torch.bool:
        right, said, there = ((each * 1).sum(0) for each in (predicted & actual, predicted, actual))
        refused, absent = (~predicted & ~actual).sum(0), (~actual).sum(0)
    else:
        classes, index = torch.unique(torch.cat([predicted, actual]), return_inverse=True)
        first, second = index.chunk(2)
        counted = (first[first == second], first, second)
        real = classes != NO_CLASS
        right, said, there = (each.bincount(minlength=len(classes))[real] for each in counted)
        refused, absent = right, there
    pairs = ((right, said), (right, there), (2 * right, said + there))
    shares = [float((part / whole.clamp(min=1)).double().mean()) for part, whole in pairs]
    parts, wholes = (torch.stack(each).flatten() for each in ((right, refused), (there, absent)))
    balanced = float((parts[wholes > 0] / wholes[wholes > 0]).double().mean())
    return {**dict(zip(OF_CLASSES, shares, strict=True)), BALANCED: balanced}


def default_metric(loss: object) -> str | None:
    """Return balanced accuracy for a loss that weighs classes: who uses it cares for rare ones.

    >>> default_metric(torch.nn.CrossEntropyLoss(torch.tensor([1.0, 5.0])))
    'balanced_accuracy'
    >>> default_metric(torch.nn.CrossEntropyLoss()) is None
    True
    """
    name = {nn.BCEWithLogitsLoss: "pos_weight", nn.CrossEntropyLoss: "weight", nn.NLLLoss: "weight"}
    weight = getattr(loss, name.get(type(loss), ""), None)
    if not isinstance(weight, Tensor):
        return None
    equal = weight == (1 if isinstance(loss, nn.BCEWithLogitsLoss) else weight.flatten()[0])
    return None if bool(equal.all()) else BALANCED


def unavailable(metric: str, known: Sequence[str]) -> UsageError:
    """Return the error for a metric that the task does not have."""
    possible = [name for name in NAMES if name in known]
    return UsageError(
        f"metric must be one that fits the task, got {metric!r}. Possible: {str(possible)[1:-1]}."
    )
