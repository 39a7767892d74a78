"""How good a model is on held-out samples: 1 is perfect, and higher is better."""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor, nn

from benchmarks.programs.program import Score

WORST = -1.0  # of R², and of a model that does not answer with numbers


def predict(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return the outputs in evaluation mode. The model keeps its mode."""
    mode = model.training
    model.eval()
    with torch.no_grad():
        outputs: Tensor = model(inputs)
    model.train(mode)
    return outputs


def accuracy(inputs: Tensor, classes: Tensor) -> Score:
    """Return the share of right answers, of a model with any usual kind of output.

    `classes` are numbered from 0. One column of outputs is a probability or a logit for two
    classes, and a class number for more.
    """

    def score(model: nn.Module) -> float:
        return right_share(predict(model, inputs), classes)

    return score


def right_share(outputs: Tensor, classes: Tensor) -> float:
    """Return the share of outputs that name the right class.

    >>> right_share(torch.tensor([[0.2, 0.8], [0.9, 0.1]]), torch.tensor([1, 1]))
    0.5
    >>> right_share(torch.tensor([[0.9], [0.2]]), torch.tensor([1, 0]))  # probabilities
    1.0
    >>> right_share(torch.tensor([3.0, -0.2]), torch.tensor([1, 0]))  # logits
    1.0
    >>> right_share(torch.tensor([[1.8], [0.1]]), torch.tensor([2, 0]))  # class numbers
    1.0
    """
    outputs = outputs.reshape(len(classes), -1).double()
    finite = outputs.isfinite().all(1)
    if outputs.shape[1] > 1:
        answers = outputs.argmax(1)
    elif int(classes.max()) > 1:
        answers = outputs[:, 0].nan_to_num().round().long()
    else:
        one = outputs[:, 0]
        middle = 0.5 if bool(((one >= 0) & (one <= 1)).all()) else 0.0
        answers = (one > middle).long()
    return float(((answers == classes) & finite).double().mean())


def most_frequent(classes: Tensor, held_out: Tensor) -> float:
    """Return the accuracy of always answering the most frequent class.

    >>> most_frequent(torch.tensor([0, 1, 1]), torch.tensor([1, 0]))
    0.5
    """
    return float((held_out == classes.mode().values).double().mean())


def explained(inputs: Tensor, targets: Tensor) -> Score:
    """Return R², at least -1, of a model that predicts numbers."""

    def score(model: nn.Module) -> float:
        return r_squared(predict(model, inputs), targets)

    return score


def r_squared(outputs: Tensor, targets: Tensor) -> float:
    """Return the share of the targets' variance that is explained, at least -1.

    >>> r_squared(torch.tensor([1.0, 3.0]), torch.tensor([[1.0], [5.0]]))
    0.5
    """
    outputs, targets = outputs.reshape(len(targets), -1).double(), targets.double()
    targets = targets.reshape(len(targets), -1)
    error = float((outputs - targets).square().mean())
    variance = float((targets - targets.mean(0)).square().mean())
    return max(WORST, 1 - error / variance) if isfinite(error) else WORST


def labels_right(inputs: Tensor, labels: Tensor) -> Score:
    """Return the share of right labels where a sample has several of them."""

    def score(model: nn.Module) -> float:
        outputs = predict(model, inputs).reshape(labels.shape)
        middle = 0.5 if bool(((outputs >= 0) & (outputs <= 1)).all()) else 0.0
        return float(((outputs > middle) == (labels > 0.5)).double().mean())

    return score


def frequent_labels(labels: Tensor, held_out: Tensor) -> float:
    """Return the share of right labels of always answering the more frequent one.

    >>> frequent_labels(torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 0]]))
    0.5
    """
    often = labels.double().mean(0) > 0.5
    return float((often == (held_out > 0.5)).double().mean())
