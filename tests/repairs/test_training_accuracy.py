"""The training accuracy that `fit` computes, and who gets to see it."""

from math import nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.recipe import Loss
from sickbay.remedies import Fitted
from sickbay.repairs.training_accuracy import TrainingAccuracy

CLASSES = [[2.0, 1.0], [0.0, 1.0], [3.0, 1.0], [0.0, 5.0]]
ANSWERS = [[0.9], [0.2], [0.6], [0.4]]


@pytest.mark.parametrize(
    ("loss", "outputs", "targets", "expected"),
    [
        pytest.param(nn.CrossEntropyLoss(), CLASSES, [0, 1, 1, 1], 0.75, id="classes"),
        pytest.param(nn.CrossEntropyLoss(), CLASSES, [0, -100, 1, 1], 2 / 3, id="ignored"),
        pytest.param(nn.MSELoss(), CLASSES, [[1, 0], [0, 1], [0, 1], [1, 0]], 0.5, id="one-hot"),
        pytest.param(nn.BCELoss(), ANSWERS, [[1], [0], [0], [0]], 0.75, id="probabilities"),
        pytest.param(
            nn.BCEWithLogitsLoss(), [[2.0], [0.2], [-1.0], [0.4]], [[1], [1], [0], [1]], 1.0,
            id="logits-of-which-some-are-between-0-and-1",
        ),
        pytest.param(
            nn.SoftMarginLoss(), [[2.0], [0.2], [-1.0], [0.4]], [[1], [1], [-1], [-1]], 0.75,
            id="signs",
        ),
        pytest.param(
            nn.BCEWithLogitsLoss(), [[2.0, -1.0], [-1.0, 3.0]], [[1, 1], [0, 1]], 0.75,
            id="labels",
        ),
        pytest.param(nn.CrossEntropyLoss(), [[nan, 1.0], [0.0, 1.0]], [1, 1], 0.5, id="nan"),
        pytest.param(nn.MSELoss(), [[0.3], [1.7]], [[0.3], [1.7]], None, id="numbers-have-none"),
        pytest.param(
            Fitted(nn.CrossEntropyLoss(), "classes"), CLASSES, [[0.0], [1.0], [1.0], [1.0]], 0.75,
            id="fitted",
        ),
    ],
)  # fmt: skip
def test_the_share_of_right_answers(
    loss: Loss, outputs: list[Any], targets: list[Any], expected: float | None
) -> None:
    right = torch.tensor(targets)
    if right.ndim > 1:
        right = right.float()
    counted = TrainingAccuracy(loss, lambda: right)
    for _ in range(2):  # each epoch starts over
        for rows in torch.split(torch.arange(len(right)), 2):
            values: Tensor = torch.tensor(outputs)[rows]
            counted.add((torch.ones(len(rows), 3),), values, right[rows])
        assert counted.end_epoch() == (
            {} if expected is None else pytest.approx({"accuracy": expected})
        )


def fit(strategy: Any, chart: Path) -> sickbay.Outcome:
    torch.manual_seed(0)
    x = torch.randn(300, 2)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    return sickbay.fit(
        model, (x, (x[:, 0] > 0).long()), loss=nn.CrossEntropyLoss(), epochs=4, progress=False,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01), strategy=strategy, chart=chart,
    )  # fmt: skip


@pytest.mark.parametrize(("strategy", "told"), [("race", False), ("autotrainer", True)])
def test_fit_computes_it_for_every_epoch(strategy: str, told: bool, tmp_path: Path) -> None:
    outcome = fit(strategy, tmp_path / "run")
    assert all(0.5 < each["accuracy"] <= 1 for each in outcome.history)
    assert outcome.history[0]["accuracy"] < outcome.history[-1]["accuracy"]
    # Problems that are judged at every step were calibrated without it.
    recorded = sickbay.Chart.open(tmp_path / "run" / "attempt-0").history()
    assert bool(recorded.epochs("accuracy")) is told
    assert recorded.epochs("val_accuracy") == [each["val_accuracy"] for each in outcome.history]
