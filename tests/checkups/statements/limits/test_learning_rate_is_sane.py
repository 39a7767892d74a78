from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn, optim

from sickbay.checkups import Result, checkup
from sickbay.checkups.batch import Batch
from sickbay.checkups.model_setup import ModelSetup
from sickbay.checkups.statements.limits.learning_rate_is_sane import (
    LearningRateIsSane,
    interpret,
    range_test,
)
from sickbay.errors import UsageError
from tests.checkups import trainable_models as models


def examined(made: models.Made, kind: Callable[..., optim.Optimizer], rate: float) -> Result:
    model, batch, loss = made
    optimizer = kind(model.parameters(), lr=rate)
    [result] = checkup(model, batch, loss, optimizer, tests=LearningRateIsSane()).results
    return result


@pytest.mark.parametrize("kind", models.KINDS)
def test_the_usual_rate_of_adam_is_sane(kind: Callable[[], models.Made]) -> None:
    torch.manual_seed(0)
    result = examined(kind(), optim.Adam, 1e-3)
    assert result.outcome == "passed", result.message
    assert 1e-5 < result.evidence["suggested"] < 0.1


@pytest.mark.parametrize("kind", models.KINDS)
def test_a_rate_far_too_low_is_found(kind: Callable[[], models.Made]) -> None:
    torch.manual_seed(0)
    result = examined(kind(), optim.Adam, 1e-9)
    assert result.outcome == "failed"
    assert "suggested" in result.message
    assert "set it to about" in result.remedy


@pytest.mark.parametrize("kind", [models.cnn, models.gpt, models.autoencoder, models.regression])
def test_a_rate_far_too_high_is_found(kind: Callable[[], models.Made]) -> None:
    torch.manual_seed(0)
    result = examined(kind(), optim.Adam, 20.0)
    assert result.outcome == "failed"
    assert "diverges" in result.message


def test_a_rate_far_above_the_suggested_one_is_found() -> None:
    torch.manual_seed(0)
    result = examined(models.mlp(), optim.SGD, 8.0)
    assert result.outcome == "failed"
    assert "limit 100 times above" in result.message or "diverges" in result.message


def test_the_rate_before_a_schedule_counts() -> None:
    model, batch, loss = models.mlp()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1e-9 * step)
    [result] = checkup(model, batch, loss, optimizer, tests=LearningRateIsSane()).results
    assert result.outcome == "passed"


def test_the_optimizer_and_the_model_stay_as_they_are() -> None:
    model, batch, loss = models.mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    before = [each.clone() for each in model.parameters()]
    checkup(model, batch, loss, optimizer, tests=LearningRateIsSane())
    assert all(map(torch.equal, before, model.parameters()))
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert not optimizer.state


def test_groups_keep_their_proportion() -> None:
    torch.manual_seed(0)
    model, batch, loss = models.mlp()
    first, *others = model.children()
    rest = [each for layer in others for each in layer.parameters()]

    def losses(rate: float) -> tuple[float, ...]:
        groups = [{"params": list(first.parameters()), "lr": rate}, {"params": rest, "lr": 1e-3}]
        return range_test(ModelSetup(model, Batch.of(batch), loss, optim.Adam(groups))).losses

    assert losses(0.0) != losses(1e-3) == losses(1e-3)


@pytest.mark.parametrize(
    ("losses", "steepest", "limit"),
    [
        pytest.param([2.0, 2.0, 1.0, 0.9, 50.0], 1e-2, 1.0, id="up-at-the-end"),
        pytest.param([2.0, 2.0, 1.0, 0.9, float("inf")], 1e-2, 1.0, id="infinite"),
        pytest.param([2.0, 2.0, 1.9, 0.5, 0.3], 1e-1, float("inf"), id="never-up"),
    ],
)
def test_reading_a_curve(losses: list[float], steepest: float, limit: float) -> None:
    found = interpret([1e-3, 1e-2, 1e-1, 1.0], losses)
    assert (found.steepest, found.limit) == (steepest, limit)


def test_skips_optimizers_that_choose_their_steps_and_losses_that_never_fall() -> None:
    made = models.mlp()
    model, batch, loss = made
    assert examined(made, optim.LBFGS, 1.0).outcome == "skipped"
    cut = models.Then(model, torch.Tensor.detach)
    optimizer = optim.SGD(cut.parameters(), lr=0.1)
    [result] = checkup(cut, batch, loss, optimizer, tests=LearningRateIsSane()).results
    assert result.outcome == "skipped"
    [result] = checkup(nn.Linear(8, 3), batch, loss, tests=LearningRateIsSane()).results
    assert result.message == "no optimizer was given"


def test_skips_a_loss_without_a_minimum() -> None:
    def critic(output: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return -(output * sign).mean()

    model = models.perceptron(1)
    batch = torch.randn(32, 8), torch.arange(32.0)[:, None] % 2 * 2 - 1
    optimizer = optim.RMSprop(model.parameters(), lr=5e-5)
    [result] = checkup(model, batch, critic, optimizer, tests=LearningRateIsSane()).results
    assert result.message == "the loss has no minimum"


def test_it_can_be_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    model, batch, loss = models.mlp()
    path = tmp_path / "rates.svg"
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    report = checkup(model, batch, loss, optimizer, tests="learning_rate_is_sane")
    report.results[0].plot(path)
    assert "</svg>" in path.read_text()


def test_a_rate_at_which_nothing_falls_is_plotted_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    model, batch, _ = models.mlp()
    result = examined((model, batch, lambda output, _: (output * 0).sum() + 1), optim.Adam, 1e-3)
    assert (result.outcome, result.message) == ("skipped", "the loss does not fall at any rate")
    result.plot(tmp_path / "rates.svg")
    assert "in use: 0.001" in (tmp_path / "rates.svg").read_text()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (3, "path must be a path, as str or os.PathLike, got 3"),
        (None, "path must be a path, as str or os.PathLike, got None"),
        ("x.foo", "path must end in one of "),
    ],
)
def test_a_plot_needs_a_path(path: Any, message: str) -> None:
    pytest.importorskip("matplotlib")
    result = examined(models.mlp(), optim.Adam, 1e-3)
    with pytest.raises(UsageError, match=f"^{message}"):
        result.plot(path)


def test_only_finite_losses_of_a_range_test_can_be_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = {"rate": (0.1,), "loss": (inf,)}
    result = Result(test="mine", outcome="passed", message="")
    for each in (result, replace(result, curves=curves)):
        with pytest.raises(UsageError, match="result must be of a learning rate range test"):
            each.plot(tmp_path / "rates.svg")
