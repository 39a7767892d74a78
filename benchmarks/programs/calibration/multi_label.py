"""Several labels for each sample."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, tags
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import frequent_labels, labels_right

programs = ProgramList("calibration", "multi-label")


def scored(data: Split) -> dict[str, Any]:
    return {
        "score": labels_right(data.x_test, data.y_test),
        "constant": frequent_labels(data.y, data.y_test),
    }


def tagger(*end: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 6), *end)


@programs.supervised(
    faults.SOFTMAX_FOR_TAGS.mildly(), "Q&A: softmax for tags that do not exclude each other"
)
def softmax_for_tags(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = tags(seed)
    model = tagger(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        epochs=30,
        **scored(data),
    )


@programs.supervised(
    [faults.SIGMOID_TWICE, faults.HIGH_RATE], "forum: sigmoid, BCEWithLogitsLoss, and RMSprop(0.1)"
)
def sigmoid_twice_high_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = tags(seed)
    model = tagger() if fixed else tagger(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=2e-3 if fixed else 0.1),
        epochs=30,
        **scored(data),
    )


def summed_over_labels(outputs: Tensor, labels: Tensor) -> Tensor:
    p = torch.sigmoid(outputs)
    return -(labels * torch.log(p) + (1 - labels) * torch.log(1 - p)).sum()


@programs.supervised(
    [faults.SUM, faults.NO_EPSILON], "issue: own multi-label loss, sum over all and log(0), NaN"
)
def own_summed_loss(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = tags(seed)
    model = tagger()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss() if fixed else summed_over_labels,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9),
        epochs=30,
        **scored(data),
    )
