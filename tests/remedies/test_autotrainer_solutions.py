"""The remedies that only the strategy `autotrainer` uses."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from sickbay import remedies as r
from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.surgery import output_activation
from sickbay.vitals import Setup
from tests.remedies.test_all import recipe

FOUND = Finding(problem="any", step=0)


@pytest.mark.parametrize(
    ("remedy", "before", "expected"),
    [
        pytest.param(r.SetBatchSize(to=64), 32, 64, id="larger"),
        pytest.param(r.SetBatchSize(to=64), 64, None, id="the-same"),
        pytest.param(r.SetBatchSize(to=64), 128, None, id="smaller"),
    ],
)
def test_a_batch_only_grows(remedy: Remedy, before: int, expected: int | None) -> None:
    made = remedy.prescribe(FOUND, replace(recipe(), batch_size=before))
    assert (made and made.batch_size) == expected


@pytest.mark.parametrize(
    ("factor", "before", "expected"),
    [
        pytest.param(1.0, 1e-6, 0.01, id="published"),
        pytest.param(10.0, 1e-6, 0.1, id="ten-times-the-published"),
        pytest.param(1.0, 0.01, None, id="it-is-the-published"),
    ],
)
def test_a_rate_is_a_multiple_of_the_published_one(
    factor: float, before: float, expected: float | None
) -> None:
    made = r.SetLearningRate(factor=factor).prescribe(FOUND, recipe().with_lr(before))
    assert (made and made.lr) == (expected and pytest.approx(expected))


def test_another_optimizer_is_of_another_kind() -> None:
    made = r.UseAnotherOptimizer(to="nadam").prescribe(FOUND, recipe())
    assert made is not None
    assert isinstance(made.optimizer, torch.optim.NAdam)
    assert made.lr == pytest.approx(0.001)
    assert r.UseAnotherOptimizer(to="sgd").prescribe(FOUND, recipe()) is None


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param("mse", None, id="it-fits-the-answers"),
        pytest.param("bce_logits", "linear", id="before-logits"),
    ],
)
def test_the_output_follows_the_task(loss: str, expected: str | None) -> None:
    setup = Setup(task="binary", loss=loss, output="sigmoid", output_shape=(8, 1))
    given = replace(recipe(), setup=setup)
    made = r.FitOutputToTask().prescribe(FOUND, given)
    assert (made and output_activation(made.model, given.example)) == expected


@pytest.mark.parametrize(
    ("mean", "bad", "expected"),
    [
        pytest.param(100.0, False, True, id="large-inputs"),
        pytest.param(0.0, True, True, id="bad-samples"),
        pytest.param(0.0, False, False, id="ordinary-inputs"),
    ],
)
def test_only_abnormal_data_is_normalised(mean: float, bad: bool, expected: bool) -> None:
    given: Recipe = replace(
        recipe(), inputs=(torch.full((4,), mean), torch.ones(4)), bad_samples=bad
    )
    made = r.NormaliseData().prescribe(FOUND, given)
    assert (made is not None) is expected
    if made is not None:
        assert made.clean_data
        assert isinstance(made.model, nn.Module)
