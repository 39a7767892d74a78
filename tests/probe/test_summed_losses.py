"""Whether a loss sums the losses of samples shows in its graph."""

import pytest
from torch.nn import functional as f

from sickbay.probe.loss_graph import origin
from tests.probe.test_loss_graph import ANSWERS, CLASSES, NUMBERS, Loss, outputs


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param(lambda out: f.mse_loss(out, NUMBERS, reduction="sum"), True, id="argument"),
        pytest.param(lambda out: f.mse_loss(out, NUMBERS), False, id="mean"),
        pytest.param(
            lambda out: f.mse_loss(out, NUMBERS, reduction="none").sum(), True, id="of-each"
        ),
        pytest.param(
            lambda out: f.mse_loss(out, NUMBERS, reduction="none").sum(1).mean(), False, id="rows"
        ),
        pytest.param(
            lambda out: f.mse_loss(out, NUMBERS, reduction="sum") / 18, False, id="divided"
        ),
        pytest.param(lambda out: ((out - NUMBERS) ** 2).sum(), True, id="by-hand"),
        pytest.param(lambda out: ((out - NUMBERS) ** 2).mean(), False, id="mean-by-hand"),
        pytest.param(
            lambda out: f.cross_entropy(out, CLASSES, reduction="sum"), True, id="classes"
        ),
        pytest.param(
            lambda out: f.binary_cross_entropy_with_logits(out, ANSWERS, reduction="sum"),
            True,
            id="answers",
        ),
        pytest.param(
            lambda out: f.binary_cross_entropy(out.sigmoid(), ANSWERS, reduction="sum"),
            True,
            id="probabilities",
        ),
    ],
)
def test_a_sum_is_told_from_a_mean(loss: Loss, expected: bool) -> None:
    assert origin(loss(outputs()).grad_fn).summed is expected
