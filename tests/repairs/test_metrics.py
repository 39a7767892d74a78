"""The score of a run, chosen by the user."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.demo.flawed_models import circles
from sickbay.repairs.data import Data
from sickbay.repairs.metrics import NO_CLASS, class_scores
from sickbay.repairs.preflight import usual_metric
from sickbay.repairs.run import Progress
from sickbay.repairs.scoring import doubt, key
from tests.repairs.datasets import refused
from tests.repairs.test_fit import fit, healthy, sick
from tests.repairs.test_scoring import CE, MSE, Gives, scored
from tests.repairs.user_loops import recipe_of, step

YES, NO = True, False


@pytest.mark.parametrize(
    ("given", "right", "expected"),
    [
        pytest.param([0, 0, 1, 1], [0, 1, 1, 1], (3 / 4, 5 / 6, 11 / 15), id="two-classes"),
        pytest.param([0, 1, 2], [0, 1, 2], (1, 1, 1), id="all-right"),
        pytest.param([1, 2, 0], [0, 1, 2], (0, 0, 0), id="all-wrong"),
        pytest.param([0, 0, 0, 0], [0, 0, 1, 2], (1 / 6, 1 / 3, 2 / 9), id="never-said"),
        pytest.param([0, 5], [0, 0], (1 / 2, 1 / 4, 1 / 3), id="a-class-that-is-not-there"),
        pytest.param([0, NO_CLASS], [0, 0], (1, 1 / 2, 2 / 3), id="no-answer"),
        pytest.param([YES, YES, NO, NO], [YES, NO, YES, NO], (1 / 2, 1 / 2, 1 / 2), id="yes-or-no"),
        pytest.param([NO, NO], [YES, NO], (0, 0, 0), id="never-yes"),
        pytest.param([[YES, NO], [YES, YES]], [[YES, NO], [NO, YES]], (3 / 4, 1, 5 / 6), id="many"),
    ],
)
def test_class_scores(given: Any, right: Any, expected: tuple[float, ...]) -> None:
    found = class_scores(torch.tensor(given), torch.tensor(right))
    names = ("precision", "recall", "f1")
    assert tuple(found[name] for name in names) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "right", "expected"),
    [
        pytest.param([0, 0, 0, 0], [0, 0, 0, 1], 1 / 2, id="a-constant-answer"),
        pytest.param([0, 2, 1, 1], [0, 0, 1, 1], 3 / 4, id="a-class-that-is-not-there"),
        pytest.param([YES, NO, NO, NO], [YES, YES, NO, NO], 3 / 4, id="yes-or-no"),
        pytest.param([[YES, NO], [NO, NO]], [[YES, YES], [NO, YES]], 2 / 3, id="never-no"),
    ],
)
def test_all_classes_count_as_much(given: Any, right: Any, expected: float) -> None:
    found = class_scores(torch.tensor(given), torch.tensor(right))
    assert found["balanced_accuracy"] == pytest.approx(expected)


def test_a_loss_that_weighs_classes_is_scored_by_all_of_them() -> None:
    weighted = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))
    assert "val_metric" in fit(healthy(), loss=weighted, epochs=2).history[-1]
    accuracy = fit(healthy(), loss=weighted, epochs=2, metric="accuracy")
    assert "val_metric" not in accuracy.history[-1]
    assert "val_metric" not in fit(healthy(), epochs=2).history[-1]


def test_weights_of_shares_ask_for_no_classes() -> None:
    x = torch.rand(60, 3)
    model = nn.Linear(3, 2)
    data = Data.of((x, x[:, :2]), batch_size=8)
    assert usual_metric(model, nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0)), data) is None
    assert usual_metric(model, nn.CrossEntropyLoss(torch.tensor([1.0, 2.0])), data) is None
    labels = Data.of((x, (x[:, 0] > 0.5).long()), batch_size=8)
    assert usual_metric(model, nn.CrossEntropyLoss(torch.tensor([1.0, 2.0])), labels) is not None


def test_class_scores_are_those_of_scikit_learn() -> None:
    metrics: Any = pytest.importorskip("sklearn.metrics")
    given, right = torch.randint(5, (2, 200), generator=torch.Generator().manual_seed(0))
    found = class_scores(given, right)
    for name in ("precision", "recall", "f1"):
        theirs = getattr(metrics, f"{name}_score")(right, given, average="macro")
        assert found[name] == pytest.approx(theirs)


def value(outputs: Any, targets: Any, metric: Any, loss: Any = CE, model: Any = None) -> float:
    return key(scored(outputs, targets, loss, model, metric))


THREE = [[2.0, 1, 0], [0, 2, 1], [0, 3, 2], [0, 1, 2]]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", 3 / 4),
        ("precision", (1 + 1 / 2 + 1) / 3),
        ("recall", (1 + 1 + 1 / 2) / 3),
        ("f1", (1 + 2 / 3 + 2 / 3) / 3),
        (None, 3 / 4),
    ],
)
def test_named_metrics_of_classes(metric: str | None, expected: float) -> None:
    assert value(THREE, [0, 1, 2, 2], metric) == pytest.approx(expected)


def test_named_metrics_of_yes_and_no() -> None:
    outputs, targets = [[0.6], [0.4], [0.7], [nan]], [[1.0], [1.0], [0.0], [0.0]]
    assert value(outputs, targets, "precision", MSE) == pytest.approx(1 / 3)
    assert value(outputs, targets, "recall", MSE) == pytest.approx(1 / 2)


def test_named_metrics_of_numbers() -> None:
    outputs, targets = [[1.2], [2.9], [2.6], [4.1]], [[1.3], [2.2], [3.1], [4.4]]
    assert value(outputs, targets, "r2", MSE) == value(outputs, targets, None, MSE)
    assert value(outputs, targets, "loss", MSE) == pytest.approx(-0.21)
    assert "Possible: 'r2', 'loss'." in refused(lambda: value(outputs, targets, "f1", MSE))


def test_a_function_gets_the_whole_held_out_set_on_the_cpu() -> None:
    seen: list[tuple[Any, Any]] = []

    def metric(outputs: Any, targets: Any) -> Any:
        seen.append((outputs.shape, targets.shape))
        return np.float32(0.5)

    outputs = torch.rand(600, 3)  # 512 and 88
    assert scored(outputs, torch.zeros(600).long(), CE, None, metric)["val_metric"] == 0.5
    assert seen == [((600, 3), (600,))]


def test_a_function_gets_nested_outputs_joined() -> None:
    def metric(outputs: Any, targets: Tensor) -> float:
        assert len(outputs["a"]) == len(outputs["b"][0]) == len(targets) == 600
        return -1.5

    model = Gives(lambda x: {"a": x, "b": (x, x.sum(1))})
    loss: Any = lambda outputs, _: outputs["a"].sum() * 0  # noqa: E731
    scores = scored(torch.rand(600, 3), torch.zeros(600).long(), loss, model, metric)
    assert key(scores) == -1.5


@pytest.mark.parametrize(
    ("returned", "expected"),
    [(torch.tensor(3.0), 3.0), (7, 7.0), (nan, -inf), ("good", None), (None, None)],
)
def test_what_a_function_returns(returned: Any, expected: float | None) -> None:
    def ask() -> float:
        return value(THREE, [0, 1, 2, 2], lambda *_: returned)

    if expected is None:
        assert refused(ask).startswith("What the metric <lambda> returns must be a number, got ")
    else:
        assert ask() == expected


def test_only_accuracies_have_a_standard_error() -> None:
    assert doubt({"val_accuracy": 0.9}, 100) == 0.03
    assert doubt({"val_accuracy": 0.9, "val_metric": 0.9}, 100) == 0


def test_the_gain_is_that_of_the_metric() -> None:
    start = {"val_accuracy": 0.5, "val_metric": 2.0, "val_loss": 1.0}
    assert Progress(score=5.0, start=start).gain == 3.0


def small(outputs: Tensor, targets: Tensor) -> float:
    """Prefer the network that says the least, which is the one that has learnt the least."""
    assert len(outputs) == len(targets) == 256
    return -outputs.abs().mean().item()


def test_the_best_model_is_the_best_by_the_metric() -> None:
    usual = fit(healthy(), epochs=8, remedies=[])
    other = fit(healthy(), epochs=8, metric=small, remedies=[])
    values = [each["val_metric"] for each in other.history]
    assert other.score == max(values) > values[-1]
    points, labels = circles(256, seed=1)
    assert small(other.model.eval()(points), labels) == other.score
    assert usual.score > 0.9
    assert [each["val_loss"] for each in other.history] == [
        each["val_loss"] for each in usual.history
    ]
    assert "val_metric" not in usual.history[0]


def test_the_target_is_one_of_the_metric() -> None:
    outcome = fit(healthy(), target=1.0, metric=lambda outputs, _: outputs.abs().mean())
    assert outcome.solved
    assert outcome.score >= 1.0
    assert outcome.epochs < 20


@pytest.mark.parametrize("metric", ["f1", "precision", "recall", "loss"])
def test_a_repair_by_a_named_metric(metric: str) -> None:
    outcome = fit(sick(), metric=metric)
    assert outcome.solved
    assert outcome.score > (-0.2 if metric == "loss" else 0.95)
    assert outcome.history[-1]["val_accuracy"] > 0.95


def test_accuracy_by_name_is_the_default() -> None:
    assert (
        fit(healthy(), metric="accuracy", epochs=3).as_json() == fit(healthy(), epochs=3).as_json()
    )


def test_in_processes_it_comes_to_the_same() -> None:
    alone, several = (fit(healthy(), metric=small, epochs=2, workers=n) for n in (None, 2))
    assert several.history == alone.history
    told = refused(lambda: fit(healthy(), metric=lambda *_: 1, workers=2))
    assert told.startswith("metric cannot be sent to worker processes")


def test_another_metric_is_another_repair(tmp_path: Path) -> None:
    more: dict[str, Any] = {"chart": tmp_path / "run", "resume": True, "epochs": 1}
    fit(healthy(), metric=small, **more)
    fit(healthy(), metric=small, **more)
    assert "Different: 'metric'." in refused(lambda: fit(healthy(), metric="f1", **more))


def test_an_error_of_the_metric_has_its_own_traceback() -> None:
    def metric(*_: Any) -> float:
        raise KeyError("mine")

    with pytest.raises(sickbay.UsageError, match="metric must be a function of") as error:
        fit(healthy(), metric=metric)
    assert isinstance(error.value.__cause__, KeyError)


class Rising:
    """A loop that reports a metric of its own."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def __call__(self, recipe: sickbay.Recipe, doctor: Any) -> None:
        x = torch.rand(64, 2, generator=torch.Generator().manual_seed(0))
        for each in self.values:
            step(recipe, doctor, x, (x[:, :1] > 0.5).float())
            doctor.epoch(val_accuracy=0.5, val_f1=each)


def test_a_loop_of_one_s_own_has_metrics_of_its_own() -> None:
    recipe = recipe_of(healthy(), epochs=5)
    more: dict[str, Any] = {"train": Rising(0.1, 0.7, 0.3), "progress": False}
    assert sickbay.repair(recipe, metric="val_f1", **more).score == 0.7
    assert sickbay.repair(recipe, **more).score == 0.5
    assert refused(lambda: sickbay.repair(recipe, metric="f1", **more)) == (
        "metric must be one that train passes to doctor.epoch, got 'f1'. "
        "Possible: 'val_accuracy', 'val_f1'."
    )
    assert refused(lambda: sickbay.repair(recipe, metric=small, **more)).startswith(
        "metric must be the name of a metric that train passes to doctor.epoch, got <function small"
    )


def test_a_model_with_a_norm_keeps_its_state() -> None:
    model = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    before = {name: each.clone() for name, each in model.state_dict().items()}
    fit(model, metric="f1", epochs=1)
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
